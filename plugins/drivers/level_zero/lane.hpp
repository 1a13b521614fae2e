// lane.hpp — the Level Zero side of one queue: ops become commands of immediate lists; events signal completion.
//
// The commands of a list are unordered. A unit's queue has one list, and each op waits for the event of the previous op; the
// copy queue has a list for each engine, and no order. Part of a streams::Queue, which states the threading rules.
// Marks are events.
#pragma once
#include <vector>

#include "device.hpp"
#include "waker.hpp"

namespace level_zero {

class Lane {
 public:
  using Device = level_zero::Device;
  using Mark = Event *;

  struct Session {
    explicit Session(Lane &) noexcept {}
  };

  explicit Lane(Device &d) : dev_(d), api_(d.api), events_(*d.events), waker_(d.api, *d.events) {}
  ~Lane();
  Lane(const Lane &) = delete;
  Lane &operator=(const Lane &) = delete;

  consort_status open(uint32_t unit);
  consort_status open_lists();  // when the device has its context
  bool in_order() const noexcept { return in_order_; }
  bool blocks(const consort_op &op) const noexcept { return op.kind == CONSORT_OP_CALL && !(op.flags & CONSORT_OPF_ENQUEUE); }
  void issue(const consort_op &, streams::Issued<Event *> &) noexcept;
  void flush() noexcept {}  // commands of an immediate list are already submitted
  streams::State state(Event *, consort_status *, std::string *why) noexcept;
  bool call_back(Event *e, streams::WakeFd *wake) noexcept { return waker_.signal_for(e, wake); }
  void times(Event *first, Event *last, uint64_t seen, consort_done *) const noexcept;
  void keep(Event *e) const noexcept { events_.keep(e); }
  void drop(Event *e) const noexcept { events_.drop(e); }

 private:
  struct Commands;  // the commands of one op

  void copy(const consort_copy &, Commands &) noexcept;
  void fill(const consort_fill &, Commands &) noexcept;
  void fill_by_copies(const consort_fill &, Commands &) noexcept;
  void launch(const consort_launch &, Commands &) noexcept;
  bool arguments(const Code &, const consort_launch &, ze_kernel_handle_t, bool *shared, Commands &) noexcept;
  bool groups(const Code &, const consort_launch &, ze_kernel_handle_t, bool shared, ze_group_count_t *, Commands &) noexcept;
  ze_kernel_handle_t kernel_of(const Code &, ze_result_t *) noexcept;

  Device &dev_;
  const Api &api_;
  Events &events_;
  Waker waker_;
  bool in_order_ = true;
  uint32_t index_ = 0;  // of its first list among the engines
  uint64_t pattern_ = 1;  // largest fill pattern in bytes
  std::vector<ze_command_list_handle_t> lists_;
  size_t turn_ = 0;
  bool unsettled_ = false;  // commands without an event are appended: the next command on the list waits for all before it
  Event *previous_ = nullptr;  // in-order queues: the last op's event
  std::vector<ze_kernel_handle_t> kernels_;  // kernel objects of this queue, by Code::number: a kernel object holds its arguments
};

using Queue = streams::Queue<Lane>;

}  // namespace level_zero
