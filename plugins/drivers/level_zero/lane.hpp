// lane.hpp — the Level Zero side of one queue: ops become commands of immediate lists, events tell when they are over.
//
// The commands of a list have no order of their own. A unit's queue has one list, and each op waits for the event of the
// one before it; the queue for copies has a list for each engine that it uses, and no order. Of a streams::Queue, which
// says who may call what when. Marks are events.
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
  bool in_order() const noexcept { return in_order_; }
  bool blocks(const consort_op &op) const noexcept { return op.kind == CONSORT_OP_CALL && !(op.flags & CONSORT_OPF_ENQUEUE); }
  void issue(const consort_op &, streams::Issued<Event *> &) noexcept;
  void flush() noexcept {}  // a command of an immediate list is on its way
  streams::State state(Event *, consort_status *, std::string *why) noexcept;
  bool call_back(Event *e, streams::Bell *bell) noexcept { return waker_.ring_for(e, bell); }
  void times(Event *first, Event *last, uint64_t seen, consort_done *) const noexcept;
  void keep(Event *e) const noexcept { events_.keep(e); }
  void drop(Event *e) const noexcept { events_.drop(e); }

 private:
  struct Commands;  // of one op

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
  uint64_t pattern_ = 1;  // the most bytes that a fill repeats here
  std::vector<ze_command_list_handle_t> lists_;
  size_t turn_ = 0;
  bool unsettled_ = false;  // commands are there that no event tells of: what comes next on the list waits for all before it
  Event *previous_ = nullptr;  // of a queue in order: its last op's
  std::vector<ze_kernel_handle_t> kernels_;  // this queue's own, by Code::number: arguments belong to a kernel object
};

using Queue = streams::Queue<Lane>;

}  // namespace level_zero
