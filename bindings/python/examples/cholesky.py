"""A tiled Cholesky factorisation with the kernels of NumPy and SciPy, where SciPy is here.   cholesky.py [--small | N TILE]"""

import sys
import time

import numpy as np

import consort
from consort import r, rw

try:
    from scipy.linalg import solve_triangular
except ImportError:

    def solve_triangular(a, b, lower):
        return np.linalg.solve(a, b)


numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
N, TILE = (128, 32) if "--small" in sys.argv else numbers or (2048, 256)


def potrf(a):
    a[:] = np.linalg.cholesky(a)


def trsm(diagonal, a):
    a[:] = solve_triangular(diagonal, a.T, lower=True).T


def update(left, right, a):
    a -= left @ right.T


def factorise(rt, tiles, n):
    for k in range(n):
        rt.post(potrf, rw(tiles[k, k]), priority=3)
        for i in range(k + 1, n):
            rt.post(trsm, r(tiles[k, k]), rw(tiles[i, k]), priority=2)
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                rt.post(update, r(tiles[i, k]), r(tiles[j, k]), rw(tiles[i, j]), priority=int(j == k + 1))


m = np.random.default_rng(1).random((N, N))
spd = m @ m.T + N * np.eye(N)
a = spd.copy()
with consort.Runtime(scheduler="prio") as rt:
    x = rt.data(a, "A")
    tiles = x.tiles(N // TILE, N // TILE)
    begin = time.perf_counter()
    factorise(rt, tiles, N // TILE)
    rt.wait()
    seconds = time.perf_counter() - begin
    x.unregister()
lower = np.tril(a)
assert np.allclose(lower @ lower.T, spd)
print(f"{N**3 / 3 / seconds / 1e9:.1f} GFlop/s")
