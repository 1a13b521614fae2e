"""Empty tasks from Python by one runtime: how long each takes. Prints one line of JSON; exit 3: the runtime is not here.

tasks.py RUNTIME KIND N WORKERS     RUNTIME: consort, threads, joblib, loky, dask     KIND: batch, future"""
import json
import sys
import time


def nothing(_=None):
    pass


def consort(kind, n, workers):
    import consort as library

    runtime = library.Runtime(workers=workers)

    def batch():
        runtime.for_each(nothing, range(n))
        runtime.wait()

    def future():
        submit = runtime.submit
        for f in [submit(nothing) for _ in range(n)]:
            f.result()

    return {"batch": batch, "future": future}[kind], runtime.stop


def threads(kind, n, workers):
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(workers)

    def batch():
        for _ in pool.map(nothing, range(n)):
            pass

    def future():
        submit = pool.submit
        for f in [submit(nothing) for _ in range(n)]:
            f.result()

    return {"batch": batch, "future": future}[kind], pool.shutdown


def joblib(kind, n, workers, backend="threading"):
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=workers, backend=backend, batch_size={"batch": "auto", "future": 1}[kind])
    parallel.__enter__()
    call = delayed(nothing)
    return lambda: parallel(call() for _ in range(n)), lambda: parallel.__exit__(None, None, None)


def loky(kind, n, workers):
    return joblib(kind, n, workers, "loky")


def dask(kind, n, workers):
    if kind == "future":
        sys.exit(3)  # its threaded scheduler has no futures
    from dask.threaded import get

    return lambda: get({i: (nothing,) for i in range(n)}, list(range(n)), num_workers=workers), lambda: None


def main():
    runtime, kind, n, workers = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    try:
        run, stop = globals()[runtime](kind, n, workers)
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    run()  # starts threads, fills caches
    begin = time.perf_counter_ns()
    run()
    ns = (time.perf_counter_ns() - begin) / n
    stop()
    print(json.dumps({"ns": ns}))


if __name__ == "__main__":
    main()
