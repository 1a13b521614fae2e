// lane.hpp — the OpenCL side of one queue: ops become commands; their events signal completion. A unit's queue is in order;
// the copy queue has no order if the device supports that.
//
// Part of a streams::Queue, which states the threading rules. Marks are events.
#pragma once
#include <vector>

#include "device.hpp"

namespace opencl {

class Lane {
 public:
  using Device = opencl::Device;
  using Mark = cl_event;
  struct Session {
    explicit Session(Lane &) noexcept {}
  };

  explicit Lane(Device &d) : dev_(d), api_(d.api) {}
  ~Lane();
  Lane(const Lane &) = delete;
  Lane &operator=(const Lane &) = delete;

  consort_status open(uint32_t unit);
  consort_status open_queue();  // when the device has its context
  bool in_order() const noexcept { return in_order_; }
  bool blocks(const consort_op &op) const noexcept { return op.kind == CONSORT_OP_CALL && !(op.flags & CONSORT_OPF_ENQUEUE); }
  void issue(const consort_op &, streams::Issued<cl_event> &) noexcept;
  void flush() noexcept { api_.clFlush(cq_); }
  streams::State state(cl_event, consort_status *, std::string *why) noexcept;
  bool call_back(cl_event, streams::WakeFd *) noexcept;
  void times(cl_event first, cl_event last, uint64_t seen, consort_done *) const noexcept;
  void keep(cl_event e) const noexcept { api_.clRetainEvent(e); }
  void drop(cl_event e) const noexcept { api_.clReleaseEvent(e); }

 private:
  struct Commands;  // the commands of one op

  void copy(const consort_copy &, Commands &);
  void fill(const consort_fill &, Commands &);
  void launch(const consort_launch &, Commands &);
  cl_kernel kernel_of(const Code &, cl_int *) noexcept;

  Device &dev_;
  const Api &api_;
  bool in_order_ = true;
  cl_command_queue cq_ = nullptr;
  std::vector<cl_kernel> kernels_;  // kernel objects of this queue, by Code::number: a kernel object holds its arguments
};

using Queue = streams::Queue<Lane>;

}  // namespace opencl
