"""An executor of concurrent.futures on a runtime."""

from __future__ import annotations

import concurrent.futures
import functools
import threading
from typing import Any, Callable, Optional, Set, TypeVar

from ._errors import StoppedError
from ._future import Future
from ._runtime import Runtime

T = TypeVar("T")
_OPTIONS = {"name", "priority", "after"}


class Executor(concurrent.futures.Executor):
    """`concurrent.futures.Executor` over a runtime of its own, or over one that is given, which goes on after the shutdown.

    >>> import consort
    >>> with consort.Executor(max_workers=2) as executor:
    ...     list(executor.map(pow, [2, 3], [5, 2]))
    [32, 9]
    """

    def __init__(self, max_workers: Optional[int] = None, *, runtime: Optional[Runtime] = None, **settings: Any) -> None:
        if runtime is not None and (max_workers is not None or settings):
            raise ValueError("max_workers and settings are for a runtime of the executor's own")
        if max_workers is not None:
            if max_workers < 1:
                raise ValueError("max_workers: at least 1 is expected")
            settings["workers"] = max_workers
        self._own = runtime is None
        self._runtime = runtime or Runtime(**settings)
        self._pending: Set[concurrent.futures.Future[Any]] = set()  # of a runtime that is given: what the shutdown waits for
        self._closed = False

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Runs function(*args, **kwargs); all keyword arguments are the function's. Futures among the arguments become their values."""
        if self._closed:
            raise StoppedError("cannot schedule new futures after shutdown", "E_STOPPED")
        if not _OPTIONS.isdisjoint(kwargs):
            function, kwargs = functools.partial(function, **kwargs), {}
        future = self._runtime.submit(function, *args, **kwargs)
        if not self._own:
            self._pending.add(future)
            future.add_done_callback(self._pending.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed = True
        if not self._own:
            pending = list(self._pending)
            if cancel_futures:
                for future in pending:
                    future.cancel()
            if wait:
                concurrent.futures.wait(pending)
        elif wait:
            self._runtime.stop(cancel=cancel_futures)
        else:
            threading.Thread(target=self._runtime.stop, kwargs={"cancel": cancel_futures}, name="consort shutdown").start()
