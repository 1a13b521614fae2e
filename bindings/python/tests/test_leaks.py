"""Nothing grows: objects and memory after many rounds of tasks, failures, cancellations, data and runtimes."""

import gc
import tracemalloc

import numpy as np
import pytest

import consort
from consort import r, redux, rw


def fail(*_):
    raise ValueError("x" * 100)


def tasks(rt):
    for i in range(50):
        rt.submit(pow, i, 2)
        rt.post(int)
    rt.for_each(int, range(50))


def failures(rt):
    first = rt.submit(fail)
    behind = [rt.submit(int, first) for _ in range(5)]
    for f in [first, *behind]:
        f.exception()
    rt.post(fail)
    with pytest.raises(ValueError):
        rt.wait()


def cancellations(rt):
    for _ in range(10):
        rt.submit(int).cancel()


def data(rt):
    a = np.ones(100)
    x = rt.data(a)
    x.reduction(0, np.add)
    with x.partition(4) as parts:
        for part in parts:
            rt.post(np.add, part, 1, out=rw(part))
    for _ in range(5):
        rt.post(lambda v: v.__iadd__(1), redux(x))
    with x.acquire():
        pass
    rt.submit(np.sum, r(x)).result()
    x.unregister()


def callbacks(rt):
    for _ in range(10):
        rt.submit(int).add_done_callback(lambda f: f.result())


def runtimes(rt):
    with consort.Runtime(workers=1) as other:
        other.submit(int).result()


@pytest.mark.parametrize("round", [tasks, failures, cancellations, data, callbacks, runtimes])
def test_nothing_grows(rt, round):
    count = {runtimes: 10, failures: 200}.get(round, 80)

    def measure():
        rt.wait()
        rt.submit(int).result()
        rt.wait()
        gc.collect()
        return len(gc.get_objects()), tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        for _ in range(count):  # failures are kept, up to a number
            round(rt)
        objects, memory = measure()
        for _ in range(count):
            round(rt)
        later_objects, later_memory = measure()
    finally:
        tracemalloc.stop()
    # failures that are kept refer to frames, of which some have more objects than others
    assert later_objects - objects < (400 if round is failures else count / 2)
    assert later_memory - memory < 40000
