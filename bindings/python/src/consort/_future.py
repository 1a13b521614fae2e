"""The future of a task: a concurrent.futures.Future that asyncio can await."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any, Generator, Generic, TypeVar

from . import _core
from ._errors import make_error

T = TypeVar("T")


class Future(_core.FutureBase, concurrent.futures.Future, Generic[T]):  # type: ignore[type-arg]
    """What `submit` returns. `concurrent.futures.wait`, `as_completed` and `asyncio.wrap_future` take it; `await future` works.

    Inside a task `result()` runs other tasks while it waits.
    """

    def __init__(self) -> None:  # the fields of the base are in C, and made on first use
        raise TypeError("futures are made by submit()")

    def cancel(self) -> bool:
        """Cancels the task unless it has begun. Tasks that depend on it do not run."""
        if not concurrent.futures.Future.cancel(self):
            return False
        self._cancel_task()
        return True

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self).__await__()

    def __repr__(self) -> str:
        return f"<consort.Future of task {self.task:#x}: {self._state.lower()}>"


_core._set_up(Future, concurrent.futures.Future, make_error)
