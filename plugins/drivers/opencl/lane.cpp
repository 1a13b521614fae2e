#include "lane.hpp"

#include <new>

#include "commands.hpp"

namespace opencl {

consort_status Lane::open(uint32_t unit) {
  const auto can = value_of<cl_command_queue_properties>(api_.clGetDeviceInfo, dev_.id, CL_DEVICE_QUEUE_PROPERTIES);
  in_order_ = unit != CONSORT_NONE || !dev_.driver.settings.any_order || !(can & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  return dev_.is_asleep() ? CONSORT_OK : open_queue();
}

consort_status Lane::open_queue() {
  cl_int e = CL_SUCCESS;
  const cl_command_queue_properties want = (dev_.driver.settings.profiling ? CL_QUEUE_PROFILING_ENABLE : 0) |
                                           (in_order_ ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cq_ = api_.clCreateCommandQueue(dev_.context, dev_.id, want, &e);
  return e == CL_SUCCESS ? CONSORT_OK : dev_.fail(status_of(e), std::string("cannot create a command queue: ") + name(e));
}

Lane::~Lane() {
  for (cl_kernel k : kernels_)
    if (k) api_.clReleaseKernel(k);
  if (cq_) api_.clReleaseCommandQueue(cq_);
}

void Lane::issue(const consort_op &op, streams::Issued<cl_event> &out) noexcept {
  Commands c(api_, out);
  out.time = out.time && dev_.driver.settings.profiling;
  c.chained = !in_order_;
  const auto marker = [&](cl_uint n, const cl_event *w, cl_event *e) { return api_.clEnqueueMarkerWithWaitList(cq_, n, w, e); };
  try {
    switch (op.kind) {
      case CONSORT_OP_COPY: copy(op.u.copy, c); break;
      case CONSORT_OP_FILL: fill(op.u.fill, c); break;
      case CONSORT_OP_LAUNCH: launch(op.u.launch, c); break;
      case CONSORT_OP_MARK: c.add(marker); break;
      case CONSORT_OP_CALL: {
        bool good = true;
        if (!out.wait.empty())
          good = c.add([&](cl_uint n, const cl_event *w, cl_event *e) { return api_.clEnqueueBarrierWithWaitList(cq_, n, w, e); });
        if (good && out.time && !out.first) good = c.add(marker);
        if (!good) break;
        consort_call *call = op.u.call.call;
        call->native_queue = cq_;
        call->native_context = dev_.context;
        out.status = op.u.call.fn(call);
        c.add(marker);
        break;
      }
      default: out.status = dev_.fail(CONSORT_E_UNSUPPORTED, "ops of kind " + std::to_string(op.kind) + " are not supported");
    }
  } catch (const std::bad_alloc &) {
    if (out.status == CONSORT_OK) out.status = CONSORT_E_NOMEM;
  }
  c.took_waits();
  if (c.error != CL_SUCCESS) {
    if (out.status == CONSORT_OK) out.status = status_of(c.error);
    if (op.kind == CONSORT_OP_COPY || op.kind == CONSORT_OP_FILL || op.kind == CONSORT_OP_MARK) {
      out.why = std::string(op.kind == CONSORT_OP_COPY ? "a copy" : op.kind == CONSORT_OP_FILL ? "a fill" : "a marker") +
                " was refused: " + name(c.error);
    }
    out.lost = means_lost(c.error);
  }
  if (out.first == out.last) out.first = nullptr;
}

streams::State Lane::state(cl_event last, consort_status *status, std::string *why) noexcept {
  cl_int state = CL_QUEUED;
  const cl_int e = api_.clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr);
  if (e != CL_SUCCESS) state = e;
  if (state > CL_COMPLETE) return streams::State::kPending;
  if (state == CL_COMPLETE) return streams::State::kComplete;
  // A runtime error other than lack of memory is the kernel's or the device's fault.
  const consort_status st = status_of(state);
  *status = st == CONSORT_E_INVAL || st == CONSORT_E_INTERNAL ? CONSORT_E_IO : st;
  *why = std::string("the operation failed: ") + name(state) + " (" + std::to_string(state) + ")";
  const bool gone = means_lost(state) || !value_of<cl_bool>(api_.clGetDeviceInfo, dev_.id, CL_DEVICE_AVAILABLE);
  return gone ? streams::State::kLost : streams::State::kComplete;
}

// Maps the device's clock to the host's: both were read at the op's first command.
void Lane::times(cl_event first, cl_event last, uint64_t seen, consort_done *out) const noexcept {
  cl_ulong queued = 0, start = 0, end = 0;
  const auto at = [&](cl_event e, cl_profiling_info what, cl_ulong *t) {
    return api_.clGetEventProfilingInfo(e, what, sizeof *t, t, nullptr) == CL_SUCCESS;
  };
  if (at(first, CL_PROFILING_COMMAND_QUEUED, &queued) && at(first, CL_PROFILING_COMMAND_START, &start) &&
      at(last, CL_PROFILING_COMMAND_END, &end) && start >= queued && end >= start) {
    out->t0 = seen + (start - queued);
    out->t1 = seen + (end - queued);
  }
}

bool Lane::call_back(cl_event last, streams::WakeFd *wake) noexcept {
  return api_.clSetEventCallback(last, CL_COMPLETE, [](cl_event, cl_int, void *b) { streams::WakeFd::signal_and_release(b); }, wake) ==
         CL_SUCCESS;
}

}  // namespace opencl
