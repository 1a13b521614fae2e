"""The decorator `task`."""

from __future__ import annotations

import functools
from typing import Any, Callable, Generic, Optional, Sequence, TypeVar, Union, overload

from . import _core
from ._future import Future
from ._runtime import Runtime, runtime

T = TypeVar("T")


class TaskFunction(Generic[T]):
    """A function whose call submits a task. `function` is the function itself; `options()` gives other options for one call."""

    def __init__(self, function: Callable[..., T], modes: Sequence[Optional[str]], options: Any, rt: Optional[Runtime]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._modes = tuple(modes)
        self._options = dict(options)
        self._runtime = rt

    def __call__(self, *args: Any, **kwargs: Any) -> Future[T]:
        if self._modes:
            args = tuple(self._with_mode(arg, i) for i, arg in enumerate(args))
        rt = self._runtime or runtime()
        return rt.submit(self.function, *args, **{**self._options, **kwargs})

    def _with_mode(self, arg: Any, i: int) -> Any:
        mode = self._modes[i] if i < len(self._modes) else None
        return arg if mode is None or isinstance(arg, _core.Access) else _core.access(arg, mode)

    def options(self, *, runtime: Optional[Runtime] = None, **options: Any) -> TaskFunction[T]:
        """The same function with other options: name, priority, after, runtime."""
        return TaskFunction(self.function, self._modes, {**self._options, **options}, runtime or self._runtime)


@overload
def task(function: Callable[..., T], /) -> TaskFunction[T]: ...


@overload
def task(function: None = None, *, modes: Union[str, Sequence[Optional[str]]] = (), runtime: Optional[Runtime] = None, **options: Any) -> Callable[[Callable[..., T]], TaskFunction[T]]: ...


def task(function: Any = None, *, modes: Union[str, Sequence[Optional[str]]] = (), runtime: Optional[Runtime] = None, **options: Any) -> Any:
    """Makes calls of a function submit tasks. modes: how the positional arguments are used, "rw r" or ["rw", None, "r"].

    >>> import consort, numpy
    >>> @consort.task(modes="rw", name="scale")
    ... def scale(x, factor):
    ...     x *= factor
    >>> a = numpy.ones(3)
    >>> future = scale(a, 4.0)
    >>> consort.data(a).unregister()
    >>> a
    array([4., 4., 4.])
    >>> consort.stop()
    """
    chosen: Sequence[Optional[str]] = modes if not isinstance(modes, str) else modes.split()

    def wrap(f: Callable[..., T]) -> TaskFunction[T]:
        return TaskFunction(f, chosen, options, runtime)

    return wrap(function) if function is not None else wrap
