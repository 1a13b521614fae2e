// commands.hpp — the commands appended for one op.
//
// On the stack of the issuing thread. An op of one command waits and signals with that command; an op of several stands
// between two barriers that wait and signal.
#pragma once
#include "lane.hpp"

namespace level_zero {

struct Lane::Commands {
  const Api &api;
  Events &events;
  const ze_command_list_handle_t list;
  streams::Issued<Event *> &out;
  std::vector<ze_event_handle_t> waits;
  Event *done = nullptr;
  bool given = false;    // commands without a signal are appended
  bool several = false;
  bool unsettled = false;  // their completion will never be signalled
  ze_result_t error = ZE_RESULT_SUCCESS;

  Commands(const Api &a, Events &e, ze_command_list_handle_t l, streams::Issued<Event *> &o) : api(a), events(e), list(l), out(o) {}

  // Opens a group of several commands.
  bool begin() noexcept {
    several = true;
    Event *first = nullptr;
    if (out.time) first = events.take(&error);
    if (out.time && !first) return false;
    error = api.zeCommandListAppendBarrier(list, first ? first->handle : nullptr, count(), handles());
    if (error != ZE_RESULT_SUCCESS) {
      if (first) events.put_back(first);
      return false;
    }
    out.first = first;
    given = true;
    return true;
  }
  // give(signal, nwait, wait): one zeCommandListAppend call. False: stop appending for this op.
  template <class F>
  bool add(F give) noexcept {
    if (several) error = give(nullptr, 0, nullptr);
    else error = give(done->handle, count(), handles());
    if (error != ZE_RESULT_SUCCESS) return false;
    if (several) given = true;
    else out.last = done;
    return true;
  }
  // Orders later commands after the appended ones.
  bool step() noexcept {
    error = api.zeCommandListAppendBarrier(list, nullptr, 0, nullptr);
    return error == ZE_RESULT_SUCCESS;
  }
  // Closes the op, also after an error: commands appended before it still run.
  void end() noexcept {
    if (!given) return;
    const ze_result_t e = api.zeCommandListAppendBarrier(list, done->handle, 0, nullptr);
    if (e == ZE_RESULT_SUCCESS) out.last = done;
    else if (error == ZE_RESULT_SUCCESS) error = e;
    unsettled = e != ZE_RESULT_SUCCESS;
  }
  uint32_t count() const noexcept { return static_cast<uint32_t>(waits.size()); }
  ze_event_handle_t *handles() noexcept { return waits.empty() ? nullptr : waits.data(); }
  void refuse(consort_status status, const std::string &text) noexcept {
    out.why = text;
    out.status = status;
  }
};

}  // namespace level_zero
