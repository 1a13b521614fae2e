"""A tiled Cholesky factorisation in single precision. The tasks are NumPy's product and OpenBLAS's own routines, which NumPy does
not have, by ctypes; both release the GIL.   cholesky.py [--small | N TILE]"""

import ctypes
import sys
import time

import numpy as np

import consort
from consort import r, rw

numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
N, TILE = (128, 32) if "--small" in sys.argv else numbers or (2048, 256)

try:
    blas = ctypes.CDLL("libopenblas.so.0")
except OSError:
    print("left out: libopenblas0 is not installed")
    sys.exit()
ROWS, PLAIN, TRANSPOSED, LOWER, NOT_UNIT, RIGHT = 101, 111, 112, 122, 131, 142
ONE, MINUS_ONE = ctypes.c_float(1), ctypes.c_float(-1)


def at(a):
    """What a routine takes for a matrix: its address, and the elements from line to line."""
    return ctypes.c_void_p(a.ctypes.data), a.strides[0] // a.itemsize


def potrf(a):
    a[:] = np.linalg.cholesky(a)


def trsm(diagonal, a):
    blas.cblas_strsm(ROWS, RIGHT, LOWER, TRANSPOSED, NOT_UNIT, *a.shape, ONE, *at(diagonal), *at(a))


def syrk(a, c):
    blas.cblas_ssyrk(ROWS, LOWER, PLAIN, *a.shape, MINUS_ONE, *at(a), ONE, *at(c))


def gemm(a, b, c):
    blas.cblas_sgemm(ROWS, PLAIN, TRANSPOSED, *c.shape, a.shape[1], MINUS_ONE, *at(a), *at(b), ONE, *at(c))


def factorise(rt, tiles, n):
    for k in range(n):
        rt.post(potrf, rw(tiles[k, k]), priority=3)
        for i in range(k + 1, n):
            rt.post(trsm, r(tiles[k, k]), rw(tiles[i, k]), priority=2)
        for i in range(k + 1, n):
            rt.post(syrk, r(tiles[i, k]), rw(tiles[i, i]), priority=int(i == k + 1))
            for j in range(k + 1, i):
                rt.post(gemm, r(tiles[i, k]), r(tiles[j, k]), rw(tiles[i, j]), priority=int(j == k + 1))


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
