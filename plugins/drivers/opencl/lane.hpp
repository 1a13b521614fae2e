// lane.hpp — the OpenCL side of one queue: ops become commands, their events tell when they are over. A unit's is in order;
// the one for copies alone has no order where the device can.
//
// Of a streams::Queue, which says who may call what when. Marks are events.
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
  bool in_order() const noexcept { return in_order_; }
  bool blocks(const consort_op &op) const noexcept { return op.kind == CONSORT_OP_CALL && !(op.flags & CONSORT_OPF_ENQUEUE); }
  void issue(const consort_op &, streams::Issued<cl_event> &) noexcept;
  void flush() noexcept { api_.clFlush(cq_); }
  streams::State state(cl_event, consort_status *, std::string *why) noexcept;
  bool call_back(cl_event, streams::Bell *) noexcept;
  void times(cl_event first, cl_event last, uint64_t seen, consort_done *) const noexcept;
  void keep(cl_event e) const noexcept { api_.clRetainEvent(e); }
  void drop(cl_event e) const noexcept { api_.clReleaseEvent(e); }

 private:
  struct Commands;  // of one op

  void copy(const consort_copy &, Commands &);
  void fill(const consort_fill &, Commands &);
  void launch(const consort_launch &, Commands &);
  cl_kernel kernel_of(const Code &, cl_int *) noexcept;

  Device &dev_;
  const Api &api_;
  bool in_order_ = true;
  cl_command_queue cq_ = nullptr;
  std::vector<cl_kernel> kernels_;  // this queue's own, by Code::number: arguments belong to a kernel object
};

using Queue = streams::Queue<Lane>;

}  // namespace opencl
