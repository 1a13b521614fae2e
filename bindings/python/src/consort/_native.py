"""Functions in C, and texts of kernels, as functions of tasks: they run without the GIL."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from . import _core


def native(function: Any, name: str = "native") -> _core.Native:
    """A C function `consort_status f(const consort_call *)` as the function of tasks: submit(native(f), rw(x), 3.0).

    function: its address as a number, a ctypes or cffi function pointer, or an object with `address` (numba.cfunc). It gets data as
    views of their layout, int and float as 8 bytes, NumPy scalars as what they are.
    """
    if isinstance(function, int):
        address = function
    elif hasattr(function, "address"):
        address = int(function.address)
    elif isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
    else:
        try:
            ffi: Any = importlib.import_module("cffi").FFI()
            address = int(ffi.cast("uintptr_t", function))
        except (ImportError, TypeError):
            raise TypeError(f"the address of a function in C is expected, not {type(function).__name__}") from None
    return _core._native(address, name, "cpu", None, None, None, function)


def kernel(text: str, entry: str, *, format: str = "cl", unit: str = "opencl") -> _core.Native:
    """The text of a kernel for a device: OpenCL C ("cl", for "opencl"), PTX ("ptx", for "cuda"). Its arguments are those that the
    layouts of the task's data supply (a vector: address and number of elements), then the plain values. It runs once for each element
    of the first datum."""
    return _core._native(None, entry, unit, format, text, entry, None)
