"""A product of blocked matrices: C += A B, a task for each pair of tiles. NumPy's product releases the GIL.   matmul.py [--small]"""

import sys
import time

import numpy as np

import consort

N, TILES = (96, 3) if "--small" in sys.argv else (2048, 8)


def multiply(c, a, b):
    c += a @ b


rng = np.random.default_rng(1)
a, b, c = rng.random((N, N)), rng.random((N, N)), np.zeros((N, N))
with consort.Runtime() as rt:
    A, B, C = (rt.data(m).tiles(TILES, TILES) for m in (a, b, c))
    begin = time.perf_counter()
    for i in range(TILES):
        for j in range(TILES):
            for k in range(TILES):
                rt.post(multiply, consort.rw(C[i, j]), A[i, k], B[k, j])
    rt.wait()
    seconds = time.perf_counter() - begin
    for m in (A, B, C):
        m.whole.unregister()
assert np.allclose(c, a @ b)
print(f"{2 * N**3 / seconds / 1e9:.1f} GFlop/s")
