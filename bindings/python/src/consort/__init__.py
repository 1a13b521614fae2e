"""Consort: tasks over data, from Python.

>>> import consort, numpy
>>> a = numpy.arange(4.0)
>>> def scale(x, factor):
...     x *= factor
>>> with consort.Runtime(workers=1) as rt:
...     x = rt.data(a)
...     rt.submit(scale, consort.rw(x), 3).result()
...     x.unregister()
>>> a
array([0., 3., 6., 9.])
"""

from ._core import Access, Data, Hold, Native, access, commute, in_task, r, redux, rw, scratch, version, w
from ._data import Partition
from ._errors import BusyError, Error, PoisonedError, StaleError, StoppedError
from ._executor import Executor
from ._future import Future
from ._native import kernel, native
from ._runtime import Runtime, data, runtime, start, stop, submit, wait
from ._task import TaskFunction, task
from ._trace import Report, trace

__version__ = "0.1.0"
__all__ = [
    "Access", "BusyError", "Data", "Error", "Executor", "Future", "Hold", "Native", "Partition", "PoisonedError", "Report", "Runtime", "StaleError", "StoppedError",
    "TaskFunction", "access", "commute", "data", "in_task", "kernel", "native", "r", "redux", "runtime", "rw", "scratch", "start", "stop",
    "submit", "task", "trace", "version", "w", "wait",
]
