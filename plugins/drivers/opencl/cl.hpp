// cl.hpp — the functions of OpenCL, looked up in a library opened at run time, and the meaning of its errors.
//
// Created by the driver's init(), constant afterwards; any thread. The library is never closed: vendors' code stays mapped
// and may have threads of its own.
#pragma once
#define CL_TARGET_OPENCL_VERSION 210
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <consort/driver.h>

#include <string>

namespace opencl {

#define OPENCL_FUNCTIONS(X)                                                                                       \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clReleaseContext) \
  X(clCreateCommandQueue) X(clReleaseCommandQueue) X(clCreateBuffer) X(clCreateSubBuffer) X(clReleaseMemObject)    \
  X(clCreateProgramWithSource) X(clCreateProgramWithBinary) X(clReleaseProgram) X(clBuildProgram)                  \
  X(clGetProgramBuildInfo) X(clGetProgramInfo) X(clCreateKernel) X(clReleaseKernel) X(clSetKernelArg)              \
  X(clGetKernelInfo) X(clGetKernelWorkGroupInfo) X(clEnqueueNDRangeKernel) X(clEnqueueReadBuffer)                  \
  X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueReadBufferRect) X(clEnqueueWriteBufferRect)            \
  X(clEnqueueCopyBufferRect) X(clEnqueueFillBuffer) X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject)               \
  X(clEnqueueMarkerWithWaitList) X(clEnqueueBarrierWithWaitList) X(clFlush) X(clFinish) X(clGetEventInfo)          \
  X(clGetEventProfilingInfo) X(clRetainEvent) X(clReleaseEvent) X(clSetEventCallback)                         \
  X(clGetMemObjectInfo) X(clRetainMemObject)
#define OPENCL_NEWER_FUNCTIONS(X) X(clCreateProgramWithIL)  // optional

struct Api {
#define X(name) decltype(&::name) name = nullptr;
  OPENCL_FUNCTIONS(X)
  OPENCL_NEWER_FUNCTIONS(X)
#undef X
  // false: no such library, or not OpenCL 1.2; reason in `why`.
  bool open(const char *library, std::string *why);
};

const char *name(cl_int error) noexcept;  // "CL_OUT_OF_RESOURCES"

// Status for a call that returned `error`, or a command that ended with it. Unknown errors are E_INTERNAL.
consort_status status_of(cl_int error) noexcept;
// Whether the error means that the device is lost.
bool means_lost(cl_int error) noexcept;

// clGet…Info for strings and plain values; "" and 0 on an error.
template <class Get, class Object>
std::string text_of(Get get, Object object, cl_uint what) {
  size_t n = 0;
  if (get(object, what, 0, nullptr, &n) != CL_SUCCESS || n == 0) return "";
  std::string s(n, '\0');
  if (get(object, what, n, s.data(), nullptr) != CL_SUCCESS) return "";
  while (!s.empty() && (s.back() == '\0' || s.back() == ' ')) s.pop_back();
  return s;
}
template <class T, class Get, class Object>
T value_of(Get get, Object object, cl_uint what) {
  T v{};
  return get(object, what, sizeof v, &v, nullptr) == CL_SUCCESS ? v : T{};
}

}  // namespace opencl
