// commands.hpp — what one op has become so far, while it is turned into commands.
//
// On the stack of whoever issues on the queue. Only an op's first command waits for others, and only its last is asked
// whether it is over: on a queue without order each waits for the one before it.
#pragma once
#include <string>
#include <vector>

#include "queue.hpp"

namespace opencl {

struct Queue::Commands {
  std::vector<cl_event> &wait;  // taken by the first command
  cl_event first = nullptr, last = nullptr;
  bool keep_first = false, chained = false;  // chained: the queue has no order
  cl_int error = CL_SUCCESS;
  consort_status status = CONSORT_OK;
  uint64_t bytes = 0;
  std::string why;              // of a status < 0; told when the op is reported
  const Api &api;

  Commands(const Api &a, std::vector<cl_event> &w) : wait(w), api(a) {}

  // give(nwait, wait, event): one clEnqueue call. False: no more of this op.
  template <class F>
  bool add(F give) noexcept {
    cl_event e = nullptr;
    if (chained && last && wait.empty()) error = give(1, &last, &e);
    else error = give(static_cast<cl_uint>(wait.size()), wait.empty() ? nullptr : wait.data(), &e);
    if (error != CL_SUCCESS) return false;
    took_waits();
    if (last && last != first) api.clReleaseEvent(last);
    if (!first && keep_first) first = e;
    last = e;
    return true;
  }
  void took_waits() noexcept {
    for (cl_event e : wait) api.clReleaseEvent(e);
    wait.clear();
  }
};

}  // namespace opencl
