"""Lifetimes: stop, the end of Python, threads, signals, fork."""

import multiprocessing
import os
import signal
import threading
import time

import pytest

import consort


def test_stop_waits_for_pending_futures():
    rt = consort.Runtime(workers=2)
    futures = [rt.submit(lambda i: time.sleep(0.0005) or i, i) for i in range(100)]
    rt.stop()
    assert [f.result() for f in futures] == list(range(100))


def test_stop_with_cancel():
    gate, begun = threading.Event(), threading.Event()
    rt = consort.Runtime(workers=1)
    first = rt.submit(lambda: begun.set() or gate.wait())
    rest = [rt.submit(int, after=first) for _ in range(20)]
    begun.wait()
    threading.Timer(0.02, gate.set).start()
    rt.stop(cancel=True)
    assert first.result() is True and all(f.done() for f in rest)


def test_stop_while_other_threads_submit():
    for _ in range(20):
        rt = consort.Runtime(workers=2)
        ends = []

        def work():
            try:
                while True:
                    rt.submit(int)
            except consort.StoppedError as error:
                ends.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        time.sleep(0.002)
        rt.stop()
        for t in threads:
            t.join()
        assert len(ends) == 3


def test_a_with_block_that_fails_cancels():
    ran = []
    with pytest.raises(KeyError):
        with consort.Runtime(workers=1) as rt:
            gate = threading.Event()
            first = rt.submit(gate.wait)
            for _ in range(10):
                rt.post(ran.append, 1, after=first)
            threading.Timer(0.02, gate.set).start()
            raise KeyError
    assert rt.stopped and ran == []


def test_many_starts():
    before = threading.active_count()
    for i in range(30):
        with consort.Runtime(workers=2) as rt:
            assert rt.submit(pow, i, 2).result() == i * i
    assert threading.active_count() <= before + 1


def test_bodies_on_threads_that_python_did_not_make(rt):
    local = threading.local()

    def body(i):
        import ctypes

        local.x = getattr(local, "x", 0) + 1
        held = ctypes.pythonapi.PyGILState_Check()
        return threading.get_ident(), threading.current_thread().name, held, consort.in_task()

    seen = [f.result() for f in [rt.submit(body, i) for i in range(200)]]
    assert all(held == 1 and inside for _, _, held, inside in seen)
    assert threading.get_ident() not in {ident for ident, *_ in seen}
    assert not consort.in_task()


def test_ctypes_callbacks_in_a_body(rt):
    import ctypes

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    libc = ctypes.CDLL(None)

    def body():
        values = (ctypes.c_int * 5)(3, 1, 2, 5, 4)
        compare = kind(lambda a, b: ctypes.c_int.from_address(a).value - ctypes.c_int.from_address(b).value)
        libc.qsort(values, 5, 4, compare)
        return list(values)

    assert all(f.result() == [1, 2, 3, 4, 5] for f in [rt.submit(body) for _ in range(20)])


def test_the_end_of_python_waits_for_tasks(run):
    out = run(
        """
        import consort, time
        rt = consort.Runtime(workers=2)
        for i in range(5): rt.post(lambda i: (time.sleep(0.01), print("ran", i, flush=True)), i)
        """
    )
    assert out.count("ran") == 5


def test_the_end_of_python_tells_a_failure(run):
    out = run("import consort; consort.Runtime(workers=1).post(int, 'x')")
    assert "invalid literal" in out


def test_exit_in_a_with_block(run):
    run(
        """
        import consort, sys, time
        with consort.Runtime(workers=2) as rt:
            for i in range(50): rt.submit(time.sleep, 0.01)
            sys.exit(3)
        """,
        status=3,
    )


@pytest.mark.parametrize("where", ["rt.wait()", "future.result()", "x.acquire()", "x.unregister()", "rt.stop()", "consort.stop()"])
def test_keyboard_interrupt_ends_a_wait(run, where):
    process = run(
        f"""
        import consort, time, sys
        import numpy
        rt = consort.start(workers=2)
        x = rt.data(numpy.zeros(1))
        done = False
        def body(v):
            print("begun", flush=True)
            while not done: time.sleep(0.002)
        future = rt.submit(body, consort.rw(x))
        try:
            {where}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        done = True
        rt.stop()
        print("stopped")
        """,
        wait=False,
    )
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.1)  # nap: the interrupt shall meet the wait; where it comes earlier, the program ends the same way
    process.send_signal(signal.SIGINT)
    out = process.communicate(timeout=30)[0]
    assert out == "interrupted\nstopped\n", out


def test_keyboard_interrupt_while_submitting(run):
    process = run(
        """
        import consort
        rt = consort.Runtime(workers=1, window=16)
        try:
            print("begun", flush=True)
            while True: rt.submit(int)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        rt.stop(cancel=True, quiet=True)
        print("stopped")
        """,
        wait=False,
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\nstopped\n"


def test_a_forked_child_is_told_to_start_its_own(rt):
    x = rt.data(bytearray(8))
    future = rt.submit(int)
    future.result()
    pending_gate = threading.Event()
    pending = rt.submit(pending_gate.wait)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        texts = []
        for call in (lambda: rt.submit(int), rt.wait, lambda: x.acquire(), lambda: pending.result(), x.unregister):
            try:
                call()
                texts.append("no error")
            except consort.StoppedError as error:
                texts.append(str(error))
        rt.stop()
        with consort.Runtime(workers=1) as mine:
            texts.append(str(mine.submit(pow, 2, 3).result()))
        os.write(write, "\n".join(texts).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        texts = pipe.read().split("\n")
    os.waitpid(pid, 0)
    pending_gate.set()
    assert len(texts) == 6 and all("forked" in text for text in texts[:5]) and texts[5] == "8", texts
    assert pending.result() is True and rt.submit(int).result() == 0


def _square(n):
    with consort.Runtime(workers=1) as rt:
        return rt.submit(pow, n, 2).result()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(rt, method):
    assert rt.submit(int).result() == 0
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(_square, range(6)) == [i * i for i in range(6)]


def test_two_runtimes_at_once(rt):
    with consort.Runtime(workers=2) as other:
        def here(n):
            return rt.submit(pow, n, 2).result()

        assert [f.result() for f in [other.submit(here, n) for n in range(20)]] == [n * n for n in range(20)]


def test_a_reduction_on_a_thread_that_used_another_runtime(run):
    out = run(
        """
        import consort, numpy
        with consort.Runtime(workers=1) as rt, consort.Runtime(workers=1) as other:
            def add(v):
                other.post(int)
                v += 1
            a = numpy.zeros(2)
            for n in range(20):
                x = rt.data(a)
                x.reduction(0, numpy.add)
                for _ in range(5): rt.post(add, consort.redux(x))
                rt.wait()
                x.unregister()
            print(a)
        """
    )
    assert out == "[100. 100.]\n"


def test_native_code_that_releases_the_gil_runs_beside_python(rt):
    """Two bodies that sleep in C at the same time meet at a barrier: neither holds the GIL meanwhile."""
    barrier = threading.Barrier(2)
    assert sorted(f.result(timeout=30) for f in [rt.submit(barrier.wait) for _ in range(2)]) == [0, 1]


