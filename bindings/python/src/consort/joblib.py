"""A backend of joblib: importing this module registers it as "consort".

>>> import joblib, consort.joblib
>>> with joblib.parallel_backend("consort", n_jobs=2):
...     joblib.Parallel()(joblib.delayed(pow)(i, 2) for i in range(5))
[0, 1, 4, 9, 16]
"""

from __future__ import annotations

import os
from typing import Any, Callable, Optional, Tuple

from joblib import register_parallel_backend  # type: ignore[import]
from joblib._parallel_backends import AutoBatchingMixin, FallbackToBackend, ParallelBackendBase, SequentialBackend  # type: ignore[import]

from ._future import Future
from ._runtime import Runtime


class _Job:
    """What joblib asks for the results of a batch."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def get(self, timeout: Optional[float] = None) -> Any:
        return self._future.result(timeout)


class ConsortBackend(AutoBatchingMixin, ParallelBackendBase):  # type: ignore[misc]
    """Batches are tasks of a runtime of the backend's own, or of one that is given. Python functions share one GIL; nested calls of
    joblib use the same runtime, and their waits run other tasks."""

    uses_threads = True
    supports_sharedmem = True
    supports_timeout = True

    def __init__(self, nesting_level: Optional[int] = None, inner_max_num_threads: Optional[int] = None, runtime: Optional[Runtime] = None, **settings: Any) -> None:
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._given = runtime
        self._settings = settings
        self._runtime: Optional[Runtime] = runtime

    def _workers(self) -> int:
        if self._given is not None:
            return int(self._given.info()["workers"])
        return len(os.sched_getaffinity(0))

    def effective_n_jobs(self, n_jobs: Optional[int]) -> int:
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is None:
            return 1
        return n_jobs if n_jobs > 0 else max(self._workers() + 1 + n_jobs, 1)

    def configure(self, n_jobs: int = 1, parallel: Any = None, **options: Any) -> int:
        n_jobs = self.effective_n_jobs(n_jobs)
        if n_jobs == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        if self._runtime is None or self._runtime.stopped:
            self._runtime = Runtime(settings={"workers": n_jobs, **self._settings})
        return n_jobs

    def submit(self, function: Callable[[], Any], callback: Optional[Callable[[Any], None]] = None) -> _Job:
        assert self._runtime is not None
        future = self._runtime.submit(function, name="joblib batch")
        if callback is not None:
            future.add_done_callback(callback)
        return _Job(future)

    apply_async = submit

    def retrieve_result_callback(self, out: Any) -> Any:  # of joblib 1.3 and later
        return out.result()

    def terminate(self) -> None:
        if self._given is None and self._runtime is not None:
            self._runtime.stop(quiet=True)
            self._runtime = None
        self.reset_batch_stats()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        if self._runtime is not None:
            self._runtime.cancel()
        if not ensure_ready:
            self.terminate()

    def get_nested_backend(self) -> Tuple[Any, Optional[int]]:
        level = (self.nesting_level or 0) + 1
        return ConsortBackend(nesting_level=level, runtime=self._runtime), None


register_parallel_backend("consort", ConsortBackend)
