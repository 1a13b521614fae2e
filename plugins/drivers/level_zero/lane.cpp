#include "lane.hpp"

#include <algorithm>
#include <new>

#include "commands.hpp"

namespace level_zero {

consort_status Lane::open(uint32_t unit) {
  in_order_ = unit != CONSORT_NONE;
  const Engines &on = in_order_ ? dev_.units : dev_.copies;
  pattern_ = on.pattern;
  index_ = in_order_ ? unit : 0;
  return dev_.is_asleep() ? CONSORT_OK : open_lists();
}

consort_status Lane::open_lists() {
  const Engines &on = in_order_ ? dev_.units : dev_.copies;
  const uint32_t want = in_order_ ? 1 : std::clamp(std::min(dev_.driver.settings.copy_engines, on.count), 1u, 64u);
  lists_.reserve(want);
  for (uint32_t i = 0; i < want; ++i) {
    auto desc = typed<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
    desc.ordinal = on.ordinal;
    desc.index = (index_ + i) % on.count;
    desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    ze_command_list_handle_t list = nullptr;
    const ze_result_t e = api_.zeCommandListCreateImmediate(dev_.context, dev_.id, &desc, &list);
    if (e == ZE_RESULT_SUCCESS) lists_.push_back(list);
    else if (lists_.empty()) return dev_.fail(status_of(e), std::string("cannot create a command list: ") + name(e));
  }
  if (!waker_.start()) return dev_.fail(CONSORT_E_NOMEM, "cannot start a thread for a queue: raise the limit of processes (ulimit -u)");
  return CONSORT_OK;
}

Lane::~Lane() {
  if (previous_) events_.drop(previous_);
  for (ze_kernel_handle_t k : kernels_)
    if (k) api_.zeKernelDestroy(k);
  for (ze_command_list_handle_t l : lists_) api_.zeCommandListDestroy(l);
}

void Lane::issue(const consort_op &op, streams::Issued<Event *> &out) noexcept {
  Commands c(api_, events_, lists_[turn_++ % lists_.size()], out);
  c.done = events_.take(&c.error);
  if (c.done) {
    try {
      if (in_order_ && previous_) {
        out.wait.push_back(previous_);
        events_.keep(previous_);
      }
      c.waits.reserve(out.wait.size());
      for (const Event *w : out.wait) c.waits.push_back(w->handle);
      c.done->waits.swap(out.wait);
    } catch (const std::bad_alloc &) {
      c.error = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
  }
  for (Event *w : out.wait) events_.drop(w);
  out.wait.clear();
  const auto mark = [&](ze_event_handle_t signal, uint32_t n, ze_event_handle_t *w) { return api_.zeCommandListAppendBarrier(c.list, signal, n, w); };
  if (unsettled_ && c.error == ZE_RESULT_SUCCESS && c.step()) unsettled_ = false;
  if (c.error == ZE_RESULT_SUCCESS) switch (op.kind) {
    case CONSORT_OP_COPY: copy(op.u.copy, c); break;
    case CONSORT_OP_FILL: fill(op.u.fill, c); break;
    case CONSORT_OP_LAUNCH: launch(op.u.launch, c); break;
    case CONSORT_OP_MARK: c.add(mark); break;
    case CONSORT_OP_CALL: {
      if (!c.begin()) break;
      consort_call *call = op.u.call.call;
      call->native_queue = c.list;
      call->native_context = dev_.context;
      out.status = op.u.call.fn(call);
      break;
    }
    default: c.refuse(CONSORT_E_UNSUPPORTED, "ops of kind " + std::to_string(op.kind) + " are not supported");
  }
  c.end();
  if (c.error != ZE_RESULT_SUCCESS && out.status == CONSORT_OK)
    c.refuse(status_of(c.error), std::string(op.kind == CONSORT_OP_COPY ? "a copy" : op.kind == CONSORT_OP_FILL ? "a fill" : "a command") +
                                     " was refused: " + name(c.error));
  out.lost = means_lost(c.error);
  unsettled_ |= in_order_ && c.unsettled;
  if (!out.last) {
    if (c.done && !c.unsettled) events_.put_back(c.done);
    return;
  }
  if (!in_order_) return;
  if (previous_) events_.drop(previous_);
  previous_ = c.done;
  events_.keep(c.done);
}

streams::State Lane::state(Event *last, consort_status *status, std::string *why) noexcept {
  const ze_result_t e = api_.zeEventQueryStatus(last->handle);
  if (e == ZE_RESULT_NOT_READY) return streams::State::kPending;
  if (e == ZE_RESULT_SUCCESS) {
    events_.let_go(last);
    return streams::State::kComplete;
  }
  *status = means_lost(e) ? CONSORT_E_DEVICE_LOST : CONSORT_E_IO;
  *why = std::string("the operation failed: ") + name(e);
  return means_lost(e) ? streams::State::kLost : streams::State::kComplete;
}

// Times begin when all predecessors are complete.
void Lane::times(Event *first, Event *last, uint64_t seen, consort_done *out) const noexcept {
  ze_kernel_timestamp_result_t begin{}, end{};
  if (api_.zeEventQueryKernelTimestamp(first->handle, &begin) != ZE_RESULT_SUCCESS ||
      api_.zeEventQueryKernelTimestamp(last->handle, &end) != ZE_RESULT_SUCCESS)
    return;
  const uint64_t t0 = dev_.host_time(first == last ? begin.global.kernelStart : begin.global.kernelEnd);
  const uint64_t t1 = dev_.host_time(end.global.kernelEnd), now = dev_.host->now(dev_.host);
  if (!t0 || !t1) return;
  out->t0 = std::clamp(t0, seen, std::max(seen, now));
  out->t1 = std::clamp(t1, out->t0, std::max(out->t0, now));
}

}  // namespace level_zero
