"""Functions in C as bodies: by ctypes, by cffi, by an address; kernels as text."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import consort
from consort import r, rw

SOURCE = """
#include <consort/consort.h>
consort_status scale(const consort_call *call) {
  const consort_vector_view *v = call->views[0];
  double *x = consort_ptr(v->addr), by;
  __builtin_memcpy(&by, &call->args[0].scalar, sizeof by);
  const int64_t add = (int64_t)call->args[1].scalar;
  for (uint64_t i = 0; i < v->n; ++i) x[i] = x[i] * by + (double)add;
  return CONSORT_OK;
}
consort_status refuse(const consort_call *call) { (void)call; return CONSORT_E_IO; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler here")
    folder = tmp_path_factory.mktemp("native")
    (folder / "f.c").write_text(SOURCE)
    include = Path(__file__).resolve().parents[3] / "sdk/include"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", f"-I{include}", "f.c", "-o", "f.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "f.so"))


def test_a_ctypes_function_is_a_body(rt, library):
    a = np.arange(5.0)
    scale = consort.native(library.scale, "scale")
    rt.post(scale, rw(a), 2.0, 1)
    rt.submit(scale, rw(a), 3.0, -1).result()
    assert rt.submit(lambda v: v.tolist(), r(a)).result() == [(x * 2 + 1) * 3 - 1 for x in range(5)]
    rt.data(a).unregister()


def test_addresses(rt, library):
    address = ctypes.cast(library.scale, ctypes.c_void_p).value

    class Compiled:
        pass

    compiled = Compiled()
    compiled.address = address  # as numba.cfunc has it
    for function in (address, compiled):
        a = np.ones(3)
        rt.submit(consort.native(function), rw(a), np.float64(4), np.int64(2)).result()
        rt.data(a).unregister()
        assert a.tolist() == [6, 6, 6]
    for bad in ("x", None, 0):
        with pytest.raises((TypeError, ValueError)):
            consort.native(bad)


def test_a_cffi_function_is_a_body(rt, library):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    pointer = ffi.cast("int (*)(void *)", ctypes.cast(library.scale, ctypes.c_void_p).value)
    a = np.ones(3)
    rt.submit(consort.native(pointer), rw(a), 4.0, 0).result()
    rt.data(a).unregister()
    assert a.tolist() == [4, 4, 4]


def test_a_failure_in_c_is_an_error(rt, library):
    future = rt.submit(consort.native(library.refuse, "refuse"), rw(np.ones(3)))
    with pytest.raises(consort.Error) as caught:
        future.result()
    assert caught.value.status == "E_IO"


def test_values_are_checked(rt, library):
    scale = consort.native(library.scale)
    with pytest.raises(TypeError, match="data and numbers"):
        rt.submit(scale, rw(np.ones(3)), "x", 1)
    with pytest.raises(OverflowError):
        rt.submit(scale, rw(np.ones(3)), 1.0, 2**70)


def test_python_and_c_bodies_take_turns(rt, library):
    a = np.zeros(4)
    scale = consort.native(library.scale)
    for i in range(50):
        rt.post(scale, rw(a), 1.0, 1)
        rt.post(lambda v: v.__iadd__(1), rw(a))
    rt.data(a).unregister()
    assert a.tolist() == [100] * 4


def test_a_kernel_without_its_device_is_refused(rt):
    kernel = consort.kernel("__kernel void f(__global double *x, ulong n) { x[get_global_id(0)] *= 2; }", "f", unit="no-such-unit")
    with pytest.raises(consort.Error, match="implementation|worker|unit"):
        rt.submit(kernel, rw(np.ones(3)))


def test_an_opencl_kernel():
    try:
        runtime = consort.Runtime(drivers="cpu,opencl", opencl__types="all")
    except consort.Error as error:
        pytest.skip(str(error))
    with runtime as rt:
        if not any(worker["class"] == "opencl" for worker in rt.workers()):
            pytest.skip("no OpenCL device here")
        kernel = consort.kernel("__kernel void f(__global float *x, ulong n, double by) { if (get_global_id(0) < n) x[get_global_id(0)] *= by; }", "f")
        a = np.arange(1000, dtype=np.float32)
        rt.submit(kernel, rw(a), 3.0).result()
        rt.post(lambda v: v.__iadd__(1), rw(a))
        rt.data(a).unregister()
        assert (a == np.arange(1000, dtype=np.float32) * 3 + 1).all()
