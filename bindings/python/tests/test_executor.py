"""The executor of concurrent.futures, and asyncio over it."""

import asyncio
import concurrent.futures as cf
import threading

import pytest

import consort


def test_executor():
    with consort.Executor(max_workers=2) as executor:
        assert isinstance(executor, cf.Executor)
        assert list(executor.map(pow, range(10), [2] * 10)) == [i * i for i in range(10)]
        assert executor.submit(sorted, [3, 1, 2], reverse=True).result() == [3, 2, 1]
        assert executor.submit(lambda **k: k, name="n", priority=3, after=None).result() == {"name": "n", "priority": 3, "after": None}
        with pytest.raises(TimeoutError):
            list(executor.map(threading.Event().wait, [0.3], timeout=0.01))
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(int)


def test_exceptions():
    with consort.Executor(2) as executor:
        with pytest.raises(ValueError):
            list(executor.map(int, ["1", "x"]))


def test_shutdown_cancels():
    gate, begun = threading.Event(), threading.Event()
    executor = consort.Executor(1)
    first = executor.submit(lambda: begun.set() or gate.wait())
    begun.wait()
    rest = [executor.submit(int) for _ in range(10)]
    executor.shutdown(wait=False, cancel_futures=True)
    gate.set()
    assert first.result() is True
    cf.wait(rest, timeout=30)
    assert all(f.done() for f in rest)


def test_on_a_runtime_that_is_given(rt):
    gate = threading.Event()
    other = rt.submit(gate.wait)
    with consort.Executor(runtime=rt) as executor:
        futures = [executor.submit(pow, i, 2) for i in range(20)]
    assert all(f.done() for f in futures) and not other.done()
    gate.set()
    assert other.result() and rt.submit(int).result() == 0
    with pytest.raises(ValueError):
        consort.Executor(2, runtime=rt)
    with pytest.raises(ValueError):
        consort.Executor(0)


def test_in_an_event_loop():
    async def main():
        loop = asyncio.get_running_loop()
        with consort.Executor(2) as executor:
            return await asyncio.gather(*(loop.run_in_executor(executor, pow, i, 2) for i in range(10)))

    assert asyncio.run(main()) == [i * i for i in range(10)]
