// commands.hpp — the commands enqueued for one op.
//
// On the stack of the issuing thread. Only an op's first command waits for other ops, and only its last one is tested for
// completion. On an out-of-order queue each command waits for the previous one.
#pragma once
#include "lane.hpp"

namespace opencl {

struct Lane::Commands {
  const Api &api;
  streams::Issued<cl_event> &out;
  bool chained = false;  // the queue has no order
  cl_int error = CL_SUCCESS;

  Commands(const Api &a, streams::Issued<cl_event> &o) : api(a), out(o) {}

  // give(nwait, wait, event): one clEnqueue call. False: stop enqueueing for this op.
  template <class F>
  bool add(F give) noexcept {
    cl_event e = nullptr;
    if (chained && out.last && out.wait.empty()) error = give(1, &out.last, &e);
    else error = give(static_cast<cl_uint>(out.wait.size()), out.wait.empty() ? nullptr : out.wait.data(), &e);
    if (error != CL_SUCCESS) return false;
    took_waits();
    if (out.last && out.last != out.first) api.clReleaseEvent(out.last);
    if (!out.first && out.time) out.first = e;
    out.last = e;
    return true;
  }
  void took_waits() noexcept {
    for (cl_event e : out.wait) api.clReleaseEvent(e);
    out.wait.clear();
  }
};

}  // namespace opencl
