"""Runtime: start and stop, registration of arrays, and the runtime of the module's own functions."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Callable, Dict, List, Optional, Set, TypeVar

from . import _core
from ._future import Future

T = TypeVar("T")
_live: Set[Runtime] = set()  # a started runtime lives until it is stopped
_default: Optional[Runtime] = None
_added: List[Dict[str, Any]] = []  # settings of blocks of trace()


class Runtime(_core.RuntimeBase):
    """A runtime. It starts when it is made, and stops at the end of a `with` block, by `stop()`, or when Python ends.

    Settings are those of the runtime (`consort config` lists them), with `_` for `-` and `__` for `.`:

    >>> import consort
    >>> with consort.Runtime(workers=2) as rt:
    ...     rt.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, *, file: Optional[str] = None, text: Optional[str] = None, settings: Optional[Dict[str, Any]] = None, **more: Any) -> None:
        super().__init__()
        self._by_id: weakref.WeakValueDictionary[int, _core.Data] = weakref.WeakValueDictionary()
        self._implied: Dict[int, _core.Data] = {}  # registered by their use: until the stop
        chosen: Dict[str, Any] = {}
        for block in _added:
            chosen.update(block)
        chosen.update({key.replace("__", "."): value for key, value in more.items()})
        chosen.update(settings or {})
        if not (file or text or "window" in chosen or "CONSORT_WINDOW" in os.environ or "CONSORT_CONFIG" in os.environ):
            chosen["window"] = 32768  # a full window makes the submitter give up the GIL for each task
        self._start([(key, _as_text(value)) for key, value in chosen.items()], file, text)
        _live.add(self)

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, kind: Optional[type], error: Optional[BaseException], trace: object) -> None:
        if error is None:
            self.stop()
            return
        self.stop(cancel=True, quiet=True)

    def stop(self, *, cancel: bool = False, quiet: bool = False) -> None:
        """Waits for all tasks, brings data home and ends the threads. Raises the first failure that nothing else has raised.

        cancel: tasks that have not begun are cancelled. quiet: raises no failure of tasks. After a KeyboardInterrupt in
        stop() the runtime is still there, and may be stopped again.
        """
        if self.started and not self.stopped and cancel and self in _live:
            self.cancel()
        try:
            self._stop()
        except Exception:
            if not self.stopped or not quiet:
                raise
        finally:
            if self.stopped:
                _live.discard(self)
                self._implied.clear()

    def data(self, array: Any, name: Optional[str] = None) -> _core.Data:
        """Registers an array in place: anything with the buffer protocol, `__array_interface__` or DLPack. The same object again
        gives the same Data. Until `unregister()`, or the end of the Data, the program looks at the array by `acquire()` alone.

        >>> import consort, numpy
        >>> with consort.Runtime(workers=1) as rt:
        ...     a = numpy.arange(4.0)
        ...     x = rt.data(a)
        ...     _ = rt.submit(numpy.multiply, consort.r(x), 2, out=consort.rw(x))
        ...     x.unregister()
        ...     a
        array([0., 2., 4., 6.])
        """
        known = self._by_id.get(id(array))
        if known is not None and known.registered:
            return known
        made = self._register(array, _as_array(array), name)
        self._by_id[id(array)] = made
        return made

    def _implicit(self, array: Any) -> _core.Data:
        data = self.data(array)
        self._implied[id(array)] = data
        return data

    def _forget(self, array: Any) -> None:
        self._implied.pop(id(array), None)
        self._by_id.pop(id(array), None)


def _as_text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _as_array(array: Any) -> Any:
    import numpy

    if isinstance(array, numpy.ndarray):
        found = array
    else:
        try:
            found = numpy.asarray(memoryview(array))
        except TypeError:
            if hasattr(array, "__array_interface__"):
                found = numpy.asarray(array)
            elif hasattr(array, "__dlpack__"):
                found = numpy.from_dlpack(array)
            else:
                raise TypeError(f"{type(array).__name__} has neither the buffer protocol nor __array_interface__ nor DLPack") from None
    if found.dtype.hasobject:
        raise TypeError(f"elements of type {found.dtype} refer to Python objects: the runtime copies bytes")
    return found


def start(**settings: Any) -> Runtime:
    """Starts the runtime of the module's own functions; `Runtime` has the settings."""
    global _default
    if _default is not None and not _default.stopped and _default in _live:
        raise RuntimeError("the module's runtime was started already: stop() it, or make a Runtime")
    _default = Runtime(**settings)
    return _default


def runtime() -> Runtime:
    """The runtime of the module's own functions; starts it by default settings if need be."""
    if _default is None or _default.stopped or _default not in _live:
        return start()
    return _default


def stop(*, cancel: bool = False) -> None:
    """Stops the runtime of the module's own functions, if there is one."""
    if _default is not None:
        _default.stop(cancel=cancel)


def submit(function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
    """Runtime.submit() of the module's runtime.

    >>> import consort
    >>> consort.submit(sum, [1, 2, 3]).result()
    6
    >>> consort.stop()
    """
    return runtime().submit(function, *args, **kwargs)


def data(array: Any, name: Optional[str] = None) -> _core.Data:
    """Runtime.data() of the module's runtime."""
    return runtime().data(array, name)


def wait(timeout: Optional[float] = None) -> None:
    """Runtime.wait() of the module's runtime."""
    runtime().wait(timeout)


def _stop_all() -> None:
    for rt in list(_live):
        rt.stop()


def _after_fork() -> None:  # the child has none of them
    _live.clear()


atexit.register(_stop_all)
os.register_at_fork(after_in_child=_after_fork)
__all__: List[str] = ["Runtime", "data", "runtime", "start", "stop", "submit", "wait"]
