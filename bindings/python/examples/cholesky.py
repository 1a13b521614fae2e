"""A tiled Cholesky factorisation in single precision with the kernels of NumPy. It has no triangular solve: a panel is multiplied by
the inverse of its diagonal tile.   cholesky.py [--small | N TILE]"""

import sys
import time

import numpy as np

import consort
from consort import r, rw, w

numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
N, TILE = (128, 32) if "--small" in sys.argv else numbers or (2048, 256)


def potrf(a, inverse):
    a[:] = np.linalg.cholesky(a)
    inverse[:] = np.linalg.inv(a).T


def trsm(inverse, a):
    a[:] = a @ inverse


def update(left, right, a):
    a -= left @ right.T


def factorise(rt, tiles, n):
    for k in range(n):
        inverse = rt.data(np.empty((TILE, TILE), np.float32))
        rt.post(potrf, rw(tiles[k, k]), w(inverse), priority=3)
        for i in range(k + 1, n):
            rt.post(trsm, r(inverse), rw(tiles[i, k]), priority=2)
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                rt.post(update, r(tiles[i, k]), r(tiles[j, k]), rw(tiles[i, j]), priority=int(j == k + 1))


m = np.random.default_rng(1).random((N, N), np.float32)
spd = m @ m.T / N + np.eye(N, dtype=np.float32)
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
assert np.linalg.norm(lower @ lower.T - spd) < 1e-4 * np.linalg.norm(spd)
print(f"{N**3 / 3 / seconds / 1e9:.1f} GFlop/s")
