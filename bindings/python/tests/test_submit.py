"""Submission: functions, options, batches, the decorator, failures."""

import threading
import traceback

import pytest

import consort


def test_start_and_stop():
    rt = consort.Runtime(workers=1)
    assert rt.started and not rt.stopped and rt.info()["workers"] == 1
    rt.stop()
    rt.stop()
    assert rt.stopped
    with pytest.raises(consort.StoppedError, match="has stopped"):
        rt.submit(print)


def test_settings_are_checked():
    with pytest.raises(consort.Error, match="did you mean|no such|know"):
        consort.Runtime(wurkers=1)
    with consort.Runtime(workers=1, scheduler="prio", lws__depth=4) as rt:
        assert rt.info()["scheduler"] == "prio"


def test_returns_what_the_function_returns(rt):
    assert rt.submit(lambda a, b, *, c: (a, b, c), 1, "x", c=None).result() == (1, "x", None)
    assert rt.submit(int).result() == 0
    assert [f.result() for f in [rt.submit(pow, i, 2) for i in range(200)]] == [i * i for i in range(200)]


def test_many_arguments(rt):
    assert rt.submit(lambda *a, **k: (sum(a), sorted(k)), *range(100), x=1, y=2).result() == (4950, ["x", "y"])


def test_after_orders_and_takes_several(rt):
    seen = []
    first = rt.submit(seen.append, 1)
    second = rt.submit(seen.append, 2, after=first)
    many = [rt.submit(seen.append, 3, after=second) for _ in range(40)]
    rt.submit(seen.append, 4, after=many).result()
    assert seen == [1, 2] + [3] * 40 + [4]


def test_a_future_as_argument_is_its_value(rt):
    total = rt.submit(int, 0)
    for i in range(50):
        total = rt.submit(lambda a, b: a + b, total, i)
    assert total.result() == sum(range(50))
    assert rt.submit(lambda *, x: x, x=total).result() == sum(range(50))


def test_priority_orders_ready_tasks():
    seen = []
    with consort.Runtime(pump="manual", scheduler="prio", workers=1) as rt:
        for i in range(6):
            rt.post(seen.append, i, priority=i)
        rt.wait()
    assert seen == [5, 4, 3, 2, 1, 0]


def test_name_is_in_errors_and_explanations(rt):
    gate = threading.Event()
    future = rt.submit(gate.wait, name="the gate")
    behind = rt.submit(int, name="behind it", after=future)
    text, whole = rt.explain(behind), rt.explain()
    gate.set()
    assert "waits for task" in text and "2 tasks submitted" in whole
    behind.result()

    def fail():
        raise KeyError("k")

    broken = rt.submit(int, after=rt.submit(fail, name="root"), name="leaf")
    with pytest.raises(consort.PoisonedError, match="task 'leaf'.*because task 'root'.*KeyError: 'k'"):
        broken.result()


def test_options_are_checked(rt):
    with pytest.raises(TypeError, match="a function is expected, not int"):
        rt.submit(3)
    with pytest.raises(TypeError, match="after"):
        rt.submit(int, after=3)
    with pytest.raises(TypeError, match="name"):
        rt.submit(int, name=3)
    with pytest.raises(OverflowError):
        rt.submit(int, priority=2**40)
    with pytest.raises(TypeError, match="missing"):
        rt.submit()


def test_post_and_wait_raise_the_first_exception(rt):
    def fail(n):
        raise ValueError(n)

    rt.post(fail, 1)
    with pytest.raises(ValueError):
        rt.wait()
    rt.wait()


def test_stop_raises_what_nothing_has_raised():
    rt = consort.Runtime(workers=1)
    rt.post(int, "x")
    with pytest.raises(ValueError, match="invalid literal"):
        rt.stop()
    assert rt.stopped


def test_for_each(rt):
    lock, seen = threading.Lock(), []

    def note(i):
        with lock:
            seen.append(i)

    assert rt.for_each(note, range(1000)) == 1000
    assert rt.for_each(note, (i for i in range(1000, 3001)), grain=64, name="notes", priority=1) == 2001
    rt.wait()
    assert sorted(seen) == list(range(3001))


def test_for_each_of_a_broken_iterator(rt):
    seen = []

    def items():
        yield from range(300)
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        rt.for_each(seen.append, items())
    rt.wait()
    assert sorted(seen) == list(range(300))


def test_decorator():
    @consort.task
    def plain(a, b=2):
        "Adds."
        return a + b

    @consort.task(name="other", priority=3)
    def named(a):
        return a

    assert plain.__doc__ == "Adds." and plain.__name__ == "plain"
    assert plain(1).result() == 3 and plain.function(1) == 3
    assert named.options(name="third")(plain(2, b=3)).result() == 5
    with consort.Runtime(workers=1) as rt:
        future = plain.options(runtime=rt)(5)
        assert future.runtime is rt and future.result() == 7
    consort.stop()


def test_exception_travels_with_its_traceback(rt):
    def inner():
        raise OSError(2, "gone")

    def outer():
        try:
            inner()
        except OSError as error:
            raise RuntimeError("outer") from error

    future = rt.submit(outer)
    with pytest.raises(RuntimeError, match="outer") as caught:
        future.result()
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "outer" in names
    assert isinstance(caught.value.__cause__, OSError)
    assert future.exception() is caught.value


def test_chain_of_causes(rt):
    def fail():
        raise ZeroDivisionError("root")

    a = rt.submit(fail, name="a")
    b = rt.submit(int, after=a, name="b")
    c = rt.submit(int, after=b, name="c")
    error = c.exception()
    assert isinstance(error, consort.PoisonedError) and "task 'c'" in str(error)
    assert isinstance(error.__cause__, consort.PoisonedError) and str(error.__cause__).startswith("task 'b'")
    assert error.__cause__.__cause__ is a.exception()
    assert "{exception" not in str(error)


def test_exceptions_that_cannot_be_shown(rt):
    class Odd(Exception):
        def __str__(self):
            raise ValueError

    def fail():
        raise Odd

    assert isinstance(rt.submit(fail).exception(), Odd)


def test_arguments_are_released_when_the_task_has_ended(rt):
    import gc
    import weakref

    class Thing:
        pass

    thing = Thing()
    alive = weakref.ref(thing)
    future = rt.submit(lambda x: None, thing)
    del thing
    future.result()
    rt.wait()
    gc.collect()
    assert alive() is None


def test_a_refused_submission_leaves_nothing_behind(rt):
    import sys

    thing = object()
    before = sys.getrefcount(thing)
    for _ in range(10):
        with pytest.raises(TypeError):
            rt.submit(print, thing, after=7)
    assert sys.getrefcount(thing) == before
