"""Scales a vector in parts, each by a task.   vector_scal.py [--small]"""

import sys

import numpy as np

import consort

N = 10_000 if "--small" in sys.argv else 10_000_000


@consort.task(modes="rw")
def scale(x, factor):
    x *= factor


with consort.Runtime() as rt:
    a = np.ones(N)
    x = rt.data(a, "a")
    with x.partition(8) as parts:
        for part in parts:
            scale.options(runtime=rt)(part, 3.14)
    x.unregister()
assert np.allclose(a, 3.14)
print(f"{N} elements scaled")
