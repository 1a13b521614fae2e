"""Exceptions of the runtime, and how a failure's text finds the exception of the body that caused it."""

from __future__ import annotations

import re
from concurrent.futures import CancelledError
from typing import Dict, Optional


class Error(RuntimeError):
    """A call that the runtime refused, or a failure that is no exception of Python. `status` is its name, "E_INVAL"."""

    status: str

    def __init__(self, text: str, status: str = "E_INTERNAL") -> None:
        super().__init__(text)
        self.status = status


class StoppedError(Error):
    """The runtime has stopped, or belongs to the process that this one was forked from."""


class BusyError(Error):
    """A call that would wait for itself: from a task or a callback."""


class StaleError(Error):
    """A datum or a hold that has ended."""


class PoisonedError(Error):
    """The task did not run: one that it depends on failed. `__cause__` leads to the exception of that one."""


_KINDS = {"E_STOPPED": StoppedError, "E_BUSY": BusyError, "E_STALE": StaleError, "E_POISONED": PoisonedError}
_TOKEN = re.compile(r" ?\{exception (\d+)\}")
_LINK = " because "


def make_error(name: str, status: int, text: str, task: Optional[str], failures: Optional[Dict[int, BaseException]]) -> BaseException:
    """The exception for a status and its text, with the chain of causes that the text tells.

    >>> error = make_error("E_POISONED", -1, "task 'b' failed because task 'a': ValueError: no {exception 7}", None, {7: ValueError("no")})
    >>> type(error).__name__, str(error), repr(error.__cause__)
    ('PoisonedError', "task 'b' failed because task 'a': ValueError: no", "ValueError('no')")
    """
    if name == "E_TIMEOUT":
        return TimeoutError(_TOKEN.sub("", text))
    found = _TOKEN.search(text)
    cause = (failures or {}).get(int(found.group(1))) if found else None
    if cause is not None and _LINK not in text and name != "E_POISONED":
        return cause
    shown = _TOKEN.sub("", text) or name
    if name == "E_CANCELLED":
        return CancelledError(shown)
    error = _KINDS.get(name, Error)(shown, name)
    links = shown.split(_LINK)
    below: BaseException = error
    for i in range(1, len(links) - 1):  # the tasks between this one and the one that failed by itself
        middle = PoisonedError(_LINK.join(links[i:]), "E_POISONED")
        below.__cause__ = middle
        below = middle
    if cause is not None and cause is not below:
        below.__cause__ = cause
    elif len(links) > 1:
        below.__cause__ = CancelledError(links[-1]) if "ancel" in links[-1] else Error(links[-1])
    return error
