"""Futures: those of concurrent.futures, in asyncio, in bodies, cancelled, with callbacks."""

import asyncio
import concurrent.futures as cf
import gc
import subprocess
import sys
import threading
import time

import pytest

import consort


def test_is_a_future_of_concurrent_futures(rt):
    futures = [rt.submit(pow, i, 2) for i in range(20)]
    assert all(isinstance(f, cf.Future) for f in futures)
    done, pending = cf.wait(futures, timeout=30)
    assert len(done) == 20 and not pending
    assert sorted(f.result() for f in cf.as_completed([rt.submit(pow, i, 2) for i in range(20)], timeout=30)) == [i * i for i in range(20)]


def test_wait_for_the_first(rt):
    gate = threading.Event()
    slow, quick = rt.submit(gate.wait), rt.submit(int)
    done, pending = cf.wait([slow, quick], return_when=cf.FIRST_COMPLETED, timeout=30)
    assert done == {quick} and pending == {slow}
    gate.set()
    assert slow.result() is True


def test_states(rt):
    gate, begun = threading.Event(), threading.Event()

    def body():
        begun.set()
        gate.wait()
        return 7

    future = rt.submit(body)
    begun.wait()
    assert future.running() and not future.done() and not future.cancelled()
    with pytest.raises(TimeoutError):
        future.result(timeout=0.01)
    with pytest.raises(TimeoutError):
        future.exception(0.01)
    assert not future.cancel()
    gate.set()
    assert future.result(timeout=30) == 7 and future.done() and future.exception() is None
    assert "finished" in repr(future)
    with pytest.raises(TypeError):
        future.result(1, 2)
    with pytest.raises(TypeError):
        consort.Future()


def test_cancel(rt):
    gate = threading.Event()
    first = rt.submit(gate.wait)
    future = rt.submit(int, after=first)
    behind = rt.submit(int, after=future)
    assert future.cancel() and future.cancelled() and future.cancel()
    gate.set()
    with pytest.raises(cf.CancelledError):
        future.result()
    assert isinstance(behind.exception(), consort.PoisonedError)
    assert first.result() is True


def test_cancel_against_the_start(rt):
    for _ in range(300):
        ran = []
        future = rt.submit(ran.append, 1)
        if future.cancel():
            rt.wait()
            assert ran == []
        else:
            assert future.result() is None and ran == [1]


def test_cancel_all():
    gate = threading.Event()
    with consort.Runtime(workers=1) as rt:
        first = rt.submit(gate.wait)
        rest = [rt.submit(int, after=first) for _ in range(50)]
        rt.cancel()
        gate.set()
        assert all(f.exception() is not None or f.cancelled() for f in rest if not _is_cancelled(f))


def _is_cancelled(future):
    try:
        future.result(timeout=30)
    except cf.CancelledError:
        return True
    except consort.PoisonedError:
        return True
    return False


def test_callbacks(rt):
    seen = []
    gate = threading.Event()
    future = rt.submit(gate.wait)
    future.add_done_callback(lambda f: seen.append(f.result()))
    gate.set()
    future.result()
    rt.wait()
    future.add_done_callback(lambda f: seen.append("late"))
    assert seen == [True, "late"]


def test_a_callback_submits(rt):
    done, more = threading.Event(), []

    def again(future):
        more.append(rt.submit(pow, 2, 5))
        done.set()

    gate = threading.Event()
    future = rt.submit(gate.wait)
    future.add_done_callback(again)
    gate.set()
    assert done.wait(30) and more[0].result() == 32


def test_a_callback_of_a_poisoned_task_submits(rt):
    done, more = threading.Event(), []
    gate = threading.Event()

    def fail():
        gate.wait()
        raise ValueError

    future = rt.submit(int, after=rt.submit(fail))
    future.add_done_callback(lambda f: (more.append(rt.submit(pow, 2, 5)), done.set()))
    gate.set()
    assert done.wait(30) and more[0].result() == 32


def test_a_body_waits_for_its_own_submissions(rt):
    def fib(n):
        if n < 2:
            return n
        a, b = rt.submit(fib, n - 1), rt.submit(fib, n - 2)
        return a.result() + b.result()

    assert rt.submit(fib, 11).result() == 89


def test_a_body_waits_for_an_earlier_task():
    with consort.Runtime(workers=1) as rt:
        gate = threading.Event()
        earlier = rt.submit(gate.wait)
        later = rt.submit(lambda: earlier.result())
        gate.set()
        assert later.result() is True


def test_a_body_that_waits_for_itself_is_refused(rt):
    box, ready = [], threading.Event()

    def body():
        ready.wait()
        box[0].result()

    box.append(rt.submit(body))
    ready.set()
    with pytest.raises(consort.BusyError, match="waits for itself"):
        box[0].result()


def test_a_body_that_waits_for_all_is_refused(rt):
    with pytest.raises(consort.BusyError, match="would wait for itself"):
        rt.submit(rt.wait).result()
    with pytest.raises(consort.BusyError):
        rt.submit(rt.stop).result()
    assert rt.submit(int).result() == 0


def test_await():
    async def main(rt):
        first = rt.submit(time.sleep, 0.01)
        values = await asyncio.gather(*(rt.submit(pow, i, 2) for i in range(10)))
        await first
        with pytest.raises(ValueError):
            await rt.submit(int, "x")
        return values

    with consort.Runtime(workers=2) as rt:
        assert asyncio.run(main(rt)) == [i * i for i in range(10)]


def test_await_at_the_prompt_of_asyncio():
    program = "import consort\nrt = consort.Runtime(workers=1)\nprint('got', await rt.submit(pow, 2, 5))\nrt.stop()\n"
    done = subprocess.run([sys.executable, "-m", "asyncio"], input=program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert "got 32" in done.stdout, done.stdout


def test_await_cancelled():
    async def main(rt):
        gate = threading.Event()
        first = rt.submit(gate.wait)
        future = rt.submit(int, after=first)
        waiter = asyncio.ensure_future(asyncio.wrap_future(future))
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.sleep(0)
        assert future.cancelled()
        gate.set()
        await first

    with consort.Runtime(workers=2) as rt:
        asyncio.run(main(rt))


def test_results_from_many_threads(rt):
    future = rt.submit(lambda: time.sleep(0.02) or 5)
    values = []
    threads = [threading.Thread(target=lambda: values.append(future.result())) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert values == [5] * 8


def test_submission_from_many_threads(rt):
    total = []

    def work(k):
        total.append(sum(f.result() for f in [rt.submit(pow, i, 1) for i in range(300)]) + k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(total) == [44850 + k for k in range(4)]


def test_more_tasks_than_the_window():
    gate = threading.Event()
    with consort.Runtime(workers=1, window=64) as rt:
        opener = threading.Timer(0.05, gate.set)
        opener.start()
        futures = [rt.submit(gate.wait) for _ in range(500)]
        assert all(f.result() for f in futures)


def test_manual_pump():
    with consort.Runtime(pump="manual", workers=1) as rt:
        assert rt.submit(lambda x: x + 1, rt.submit(int, 4)).result() == 5


def test_futures_that_are_dropped(rt):
    for _ in range(500):
        rt.submit(int)
    gc.collect()
    rt.wait()
