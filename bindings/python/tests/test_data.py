"""Data: arrays in place, modes, order, holds, reductions, partitions, lifetimes."""

import array
import gc
import threading
import weakref

import numpy as np
import pytest

import consort
from consort import commute, r, redux, rw, scratch, w


def scale(x, k):
    x *= k


def add(into, other):
    into += other


def test_array_is_used_in_place(rt):
    a = np.arange(10.0)
    x = rt.data(a, "a")
    places = []

    def body(view):
        places.append(view.__array_interface__["data"][0])
        view += 1

    rt.submit(body, rw(x)).result()
    x.unregister()
    assert places == [a.__array_interface__["data"][0]]
    assert (a == np.arange(10.0) + 1).all()


@pytest.mark.parametrize(
    "make, layout",
    [
        (lambda: np.array(3.0), "variable"),
        (lambda: np.arange(6.0), "vector"),
        (lambda: np.zeros((3, 4), np.float32), "matrix"),
        (lambda: np.zeros((5, 8))[1:4, 2:6], "matrix"),
        (lambda: np.zeros((2, 3, 4), np.int16), "block"),
        (lambda: np.zeros((4, 5, 6))[:, 1:3, 2:5], "block"),
        (lambda: np.zeros((3, 4), order="F"), "ndim"),
        (lambda: np.zeros(20)[::2], "ndim"),
        (lambda: np.zeros((2, 3, 4, 5)), "ndim"),
        (lambda: np.zeros(4, np.complex128), "vector"),
        (lambda: np.zeros(4, [("a", "f4"), ("b", "i8")]), "vector"),
        (lambda: np.zeros(0), "vector"),
        (lambda: np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"), "vector"),
    ],
)
def test_layouts(rt, make, layout):
    a = make()
    x = rt.data(a)
    assert x.layout == layout and x.shape == a.shape and x.dtype == a.dtype
    seen = rt.submit(lambda v: (v.shape, v.dtype, v.strides if v.size > 1 else None), r(x)).result()
    assert seen == (a.shape, a.dtype, a.strides if a.size > 1 else None)
    if a.dtype.kind in "fic":
        rt.submit(lambda v: v.fill(2), w(x)).result()
        x.unregister()
        assert (a == 2).all()


def test_elements_between_the_steps_stay(rt):
    whole = np.zeros((6, 6))
    rt.submit(lambda v: v.fill(1), w(whole[1:4, 2:5])).result()
    rt.wait()
    assert whole.sum() == 9 and whole[0].sum() == 0 and whole[1:4, 2:5].sum() == 9


def test_buffers_of_other_types(rt):
    for a in (bytearray(8), array.array("d", [1, 2, 3]), memoryview(bytearray(4))):
        x = rt.data(a)
        rt.submit(lambda v: v.fill(7), w(x)).result()
        x.unregister()
        assert all(e == 7 for e in a)
    assert rt.submit(lambda v: bytes(v), r(rt.data(b"abc"))).result() == b"abc"


def test_array_interface_and_dlpack(rt):
    class Interface:
        def __init__(self, a):
            self.a, self.__array_interface__ = a, a.__array_interface__

    class Pack:
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **options):
            return self.a.__dlpack__()

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    a = np.ones(3)
    x = rt.data(Interface(a))
    rt.submit(scale, rw(x), 2).result()
    x.unregister()
    assert (a == 2).all()
    assert rt.submit(lambda v: v.sum(), r(rt.data(Pack(a)))).result() == 6


def test_arrays_that_are_refused(rt):
    with pytest.raises(ValueError, match="negative stride"):
        rt.data(np.zeros(4)[::-1])
    with pytest.raises(ValueError, match="broadcast"):
        rt.data(np.broadcast_to(np.zeros(4), (3, 4)))
    with pytest.raises(TypeError, match="refer to Python objects"):
        rt.data(np.array([object()]))
    with pytest.raises(TypeError, match="buffer protocol"):
        rt.data({})
    with pytest.raises(ValueError, match="multiple of the element"):
        rt.data(np.zeros(4, [("a", "f4"), ("b", "i8")])["b"])
    with pytest.raises(ValueError, match="8 dimensions"):
        rt.data(np.zeros((1,) * 9))


def test_read_only_arrays_may_be_read_alone(rt):
    a = np.ones(4)
    a.flags.writeable = False
    x = rt.data(a)
    assert rt.submit(np.sum, r(x)).result() == 4
    with pytest.raises(ValueError, match="read-only"):
        rt.submit(scale, rw(x), 2)
    with pytest.raises(ValueError, match="read-only"):
        x.acquire("rw")


def test_the_default_is_to_read(rt):
    x = rt.data(np.ones(4))
    with pytest.raises(ValueError, match="read-only"):
        rt.submit(scale, x, 2).result()
    assert rt.submit(np.sum, x).result() == 4


def test_an_array_without_a_mode_is_an_ordinary_argument(rt):
    a = np.zeros(3)
    assert rt.submit(lambda v: v is a, a).result() and rt.info()["data"] == 0


def test_order_follows_from_the_data(rt):
    a = np.zeros(1)
    x = rt.data(a)
    for i in range(200):
        rt.post(lambda v, k: np.copyto(v, v * 3 % 1000 + k), rw(x), i)
    want = 0.0
    for i in range(200):
        want = want * 3 % 1000 + i
    x.unregister()
    assert a[0] == want


def test_keyword_arguments_may_be_data(rt):
    a = np.arange(4.0)
    x = rt.data(a)
    rt.submit(np.multiply, r(x), 3, out=rw(rt.data(np.zeros(4)))).result()
    y = np.zeros(4)
    rt.submit(np.multiply, r(x), 3, out=w(y)).result()
    rt.data(y).unregister()
    assert (y == a * 3).all()


def test_one_object_is_one_datum(rt):
    a = np.ones(4)
    x = rt.data(a)
    assert rt.data(a) is x and rt.info()["data"] == 1
    rt.submit(scale, rw(a), 5)
    rt.submit(scale, rw(x), 5)
    x.unregister()
    assert (a == 25).all()
    x.unregister()
    with pytest.raises(consort.StaleError, match="not registered"):
        rt.submit(scale, rw(x), 5)
    assert rt.data(a) is not x


def test_acquire(rt):
    a = np.zeros(4)
    x = rt.data(a)
    rt.submit(lambda v: v.fill(1), w(x))
    with x.acquire() as seen:
        assert (seen == 1).all() and not seen.flags.writeable
    with x.acquire("rw") as seen:
        seen += 1
        behind = rt.submit(lambda v: v.sum(), r(x))
        with pytest.raises(TimeoutError):
            behind.result(timeout=0.02)
    assert behind.result() == 8
    hold = x.acquire("w", timeout=5)
    hold.release()
    hold.release()
    with pytest.raises(consort.StaleError):
        hold.__enter__()
    with pytest.raises(ValueError, match="mode"):
        x.acquire("x")
    x.unregister()


def test_acquire_runs_out_of_time(rt):
    x = rt.data(np.zeros(1))
    gate = threading.Event()
    rt.submit(lambda v: gate.wait(), rw(x))
    with pytest.raises(TimeoutError):
        x.acquire(timeout=0.02)
    gate.set()
    x.unregister()


def test_a_hold_ends_with_its_object(rt):
    x = rt.data(np.zeros(1))
    hold = x.acquire("rw")
    future = rt.submit(lambda v: 5, r(x))
    del hold
    assert future.result() == 5


def test_an_acquire_that_waits_for_itself_is_refused(rt):
    x = rt.data(np.zeros(1))
    with x.acquire(), x.acquire():
        with pytest.raises(consort.BusyError, match="release it first"):
            x.acquire("rw")
        with pytest.raises(consort.BusyError, match="release them"):
            rt.stop()
    with x.acquire("w"):
        with pytest.raises(consort.BusyError):
            x.acquire()
    with x.acquire("rw") as seen:
        seen += 1


def test_commute(rt):
    a = np.zeros(1)
    x = rt.data(a)
    for _ in range(200):
        rt.post(add, commute(x), 1)
    x.unregister()
    assert a[0] == 200


def test_reduction(rt):
    a, b = np.full(4, 100.0), np.full((2, 3), 5)
    x, y = rt.data(a), rt.data(b)
    x.reduction(0, np.add)
    y.reduction(lambda v: v.fill(1), lambda into, other: np.multiply(into, other, out=into))
    for i in range(100):
        rt.post(add, redux(x), i)
    for _ in range(5):
        rt.post(scale, redux(y), 2)
    x.unregister()
    y.unregister()
    assert (a == 100 + 4950).all() and (b == 5 * 32).all()
    with pytest.raises(consort.Error):
        rt.submit(add, redux(rt.data(np.zeros(2))), 1)


def test_a_failed_reduction_tells_its_exception(rt):
    def fail(v):
        raise ArithmeticError("no sum")

    x = rt.data(np.zeros(2))
    x.reduction(0, np.add)
    rt.submit(fail, redux(x), name="adder")
    with pytest.raises((ArithmeticError, consort.Error), match="no sum|adder") as caught:
        x.unregister()
    assert isinstance(caught.value, ArithmeticError) or isinstance(caught.value.__cause__, ArithmeticError)


def test_scratch(rt):
    x, y = rt.data(np.zeros((3, 4))), rt.data(np.arange(3.0))

    def body(s, out):
        s[:] = 2
        out += s.sum()

    rt.submit(body, scratch(x), rw(y)).result()
    with y.acquire() as seen:
        assert seen.tolist() == [24, 25, 26]


def test_a_view_of_scratch_must_not_be_kept(rt):
    x, kept = rt.data(np.zeros(100)), []
    with pytest.raises(RuntimeError, match="keep a copy"):
        rt.submit(kept.append, scratch(x)).result()


def test_a_failed_writer_poisons_its_readers(rt):
    a = np.zeros(4)
    x = rt.data(a, "x")

    def fail(v):
        raise ValueError("half")

    rt.submit(fail, rw(x), name="writer")
    reader = rt.submit(np.sum, r(x), name="reader")
    with pytest.raises(consort.PoisonedError, match="reader.*because task 'writer'") as caught:
        reader.result()
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises((ValueError, consort.Error)):
        x.acquire()
    x.invalidate()
    rt.submit(lambda v: v.fill(1), w(x))
    x.unregister()
    assert (a == 1).all()


def test_partition(rt):
    a = np.zeros(10)
    x = rt.data(a)
    with x.partition(3) as parts:
        assert parts.sizes == [(4,), (3,), (3,)] and len(parts) == 3
        for i, part in enumerate(parts):
            rt.post(lambda v, k: v.fill(k), w(part), i)
        rt.post(scale, rw(x), 10)
        rt.post(add, rw(parts[2]), 1)
    x.unregister()
    assert a.tolist() == [0] * 4 + [10] * 3 + [21] * 3


@pytest.mark.parametrize("shape, axis", [((6, 8), 0), ((6, 8), 1), ((6, 8), -1), ((4, 5, 6), 0), ((4, 5, 6), 1), ((4, 5, 6), 2), ((2, 3, 4, 5), 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_partition_along_an_axis(rt, shape, axis, order):
    a = np.zeros(shape, order=order)
    x = rt.data(a)
    for parts in (2, [1, shape[axis] - 1]):
        with x.partition(parts, axis) as p:
            for i, part in enumerate(p):
                rt.post(lambda v, k: v.__iadd__(k), rw(part), i + 1)
            assert sum(s[axis] for s in p.sizes) == shape[axis]
    x.unregister()
    want = np.zeros(shape)
    for pieces in (np.array_split(want, 2, axis), np.split(want, [1], axis)):
        for i, piece in enumerate(pieces):
            piece += i + 1
    assert (a == want).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_tiles(rt, order):
    a = np.zeros((5, 7), order=order)
    x = rt.data(a)
    with x.tiles(2, 3) as t:
        for i in range(2):
            for j in range(3):
                rt.post(lambda v, k: v.fill(k), w(t[i, j]), 10 * i + j)
        with pytest.raises(IndexError):
            t[2, 0]
        with t[1, 1].partition(2) as rows:
            rt.post(scale, rw(rows[0]), 2)
    x.unregister()
    assert a[:3].tolist() == [[0, 0, 0, 1, 1, 2, 2]] * 3
    assert a[3].tolist() == [10, 10, 10, 22, 22, 12, 12] and a[4].tolist() == [10, 10, 10, 11, 11, 12, 12]


def test_partitions_that_are_refused(rt):
    x = rt.data(np.zeros((4, 4)))
    for bad in (lambda: x.partition(0), lambda: x.partition([1, 2]), lambda: x.partition(2, 2), lambda: x.tiles(0, 1), lambda: rt.data(np.zeros(3)).tiles(1, 1)):
        with pytest.raises(ValueError):
            bad()
    p = x.partition(2)
    part = p[0]
    p.end()
    with pytest.raises(consort.Error):
        rt.submit(np.sum, r(part))


def test_data_of_two_runtimes(rt):
    a, b = np.ones(4), np.ones(4)
    with consort.Runtime(workers=1) as other:
        x, y = rt.data(a), other.data(b)
        for _ in range(50):
            rt.post(scale, rw(x), 2)
            other.post(scale, rw(y), 2)
        with pytest.raises(ValueError, match="another runtime"):
            rt.submit(scale, rw(y), 2)
        with pytest.raises(ValueError, match="another runtime"):
            rt.submit(int, other.submit(int))
        x.unregister()
        y.unregister()
    assert (a == 2.0**50).all() and (b == 2.0**50).all()


def test_data_collected_while_tasks_use_them(rt):
    gate = threading.Event()

    def body(v):
        gate.wait()
        return float(v.sum())

    a = np.ones(1000)
    alive = weakref.ref(a)
    future = rt.submit(body, rw(rt.data(a)))
    chain = [rt.submit(lambda v: v.sum(), r(rt.data(a)))]
    rt._forget(a)
    del a
    gc.collect()
    assert alive() is not None
    gate.set()
    assert future.result() == 1000 and chain[0].result() == 1000
    rt.wait()
    del future, chain
    gc.collect()
    rt.submit(int).result()
    rt.wait()
    assert rt.info()["data"] == 0
    assert alive() is None


def test_data_dropped_in_bodies(rt):
    def body(n):
        for _ in range(5):
            rt.post(scale, rw(rt.data(np.ones(n))), 2)

    rt.for_each(body, range(1, 60))
    rt.wait()
    gc.collect()
    assert rt.info()["data"] == 0


def test_unregister_in_its_own_task_is_refused(rt):
    x = rt.data(np.ones(1))
    with pytest.raises(consort.BusyError):
        rt.submit(lambda v: x.unregister(), rw(x)).result()
    assert x.registered and rt.submit(np.sum, r(rt.data(np.ones(2)))).result() == 2


def test_bytearray_cannot_be_resized_while_registered(rt):
    b = bytearray(8)
    x = rt.data(b)
    with pytest.raises(BufferError):
        b.append(1)
    x.unregister()
    del x
    gc.collect()
    b.append(1)


def test_data_after_the_stop():
    a = np.ones(4)
    rt = consort.Runtime(workers=1)
    x = rt.data(a)
    rt.submit(scale, rw(x), 3)
    rt.stop()
    assert (a == 3).all() and not x.registered
    x.unregister()
    with pytest.raises(consort.StoppedError):
        x.acquire()
