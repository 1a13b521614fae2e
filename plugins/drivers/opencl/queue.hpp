// queue.hpp — one command queue: ops become commands as they are submitted. A unit's is in order, and its ops are reported
// so; one for copies alone has no order where the device can, and whatever is over is reported.
//
// A ring of the ops in flight, each with the event of its last command. poll() asks the events, arm() has the oldest (without
// order: each) ring a bell (an event fd) when it is over; nothing else calls back. Host functions that may block run on a helper thread,
// started when the first of them comes, and so does whatever was submitted behind one until it is through.
// Its own calls are [queue]; the ring is guarded by the device's mutex, because the helper and other queues look at it.
#pragma once
#include <deque>
#include <thread>
#include <vector>

#include "device.hpp"

namespace opencl {

class Queue {
 public:
  static consort_status open(Device &, uint32_t unit, uint64_t token, consort_queue_desc *, Queue **out);
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  uint32_t submit(const consort_op *, uint32_t n) noexcept;
  uint32_t poll(consort_done *, uint32_t max) noexcept;
  consort_status arm() noexcept;
  int fd() const noexcept;

  // With the device's mutex held:
  void give_all_back() noexcept;  // the device is lost
  bool is_issuing() const noexcept { return in_helper_ || issuing_; }

 private:
  struct Slot {
    uint64_t cookie, bytes, seen;  // seen: host's clock when its first command was given
    cl_event first, last;          // first: only where time is wanted and there are several commands
    consort_status status;
    uint16_t kind, flags;
    bool issued, belled, told;     // told: reported, though older ones are not
    char why[200];                 // of a status < 0, as far as there are words
    unsigned char scratch[16];     // a fill's ends, until it is over
  };
  struct Later {                   // for the helper
    consort_op op;
    std::vector<consort_ticket> wait;
    uint64_t seq;
  };
  struct Bell;
  struct Commands;                 // of one op
  enum class Place { issued, not_yet, complete };

  explicit Queue(Device &d) : dev_(d), api_(d.api) {}
  void help() noexcept;
  bool start_helper() noexcept;
  Place find(const consort_ticket &, cl_event *out) const noexcept;  // with the mutex; the event is retained
  Place place_of(uint64_t seq, cl_event *out) const noexcept;
  bool must_be_helped(const consort_op &) const noexcept;
  Slot &slot(uint64_t seq) noexcept { return ring_[seq % ring_.size()]; }
  const Slot &slot(uint64_t seq) const noexcept { return ring_[seq % ring_.size()]; }
  void issue(const consort_op &, uint64_t seq, std::vector<cl_event> &wait) noexcept;
  bool over(Slot &) noexcept;
  bool ring_for(Slot &) noexcept;  // when it is over; false: no call back, it has to be asked
  void report(Slot &, consort_done *) noexcept;
  void drop_events(Slot &) noexcept;

  void copy(const consort_copy &, Commands &) noexcept;
  void fill(const consort_fill &, Slot &, Commands &) noexcept;
  void launch(const consort_launch &, Commands &) noexcept;
  cl_kernel kernel_of(const Code &, cl_int *) noexcept;

  Device &dev_;
  const Api &api_;
  uint64_t token_ = 0;
  bool in_order_ = true;
  cl_command_queue cq_ = nullptr;
  std::vector<Slot> ring_;
  uint64_t first_ = 1, next_ = 1;        // seqs in flight: [first_, next_), less those told
  std::deque<Later> later_;
  bool in_helper_ = false, issuing_ = false, stop_ = false, unbelled_ = false;
  Bell *bell_ = nullptr;
  std::vector<cl_kernel> kernels_;       // this queue's own, by Code::number: arguments belong to a kernel object
  std::thread helper_;
};

}  // namespace opencl
