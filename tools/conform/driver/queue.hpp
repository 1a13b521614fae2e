// queue.hpp — one queue of a driver under test, with a record of every op accepted and reported.
//
// As the header demands, the caller serialises calls. Ops and tickets become unreadable when submit() has returned. An
// unknown or repeated completion is a failure of the case.
#pragma once
#include <consort/driver.h>

#include <functional>
#include <vector>

#include "conform/driver/devices.hpp"
#include "conform/driver/lent.hpp"

namespace conform {

class DeviceQueue {
 public:
  struct Entry {
    uint16_t kind;
    bool is_over;
    uint64_t sent_ns, told_ns;                   // on the host's clock
    consort_done done;
  };

  DeviceQueue(Devices &, uint32_t device, uint32_t unit = CONSORT_NONE);
  ~DeviceQueue();                                // waits for ops in flight
  DeviceQueue(const DeviceQueue &) = delete;
  DeviceQueue &operator=(const DeviceQueue &) = delete;

  const consort_queue_desc &desc() const { return desc_; }
  bool is_in_order() const { return desc_.flags & CONSORT_Q_IN_ORDER; }
  bool waits_for(const DeviceQueue &other) const {
    return (desc_.flags & other.desc_.flags & CONSORT_Q_WAITS) && desc_.sync && desc_.sync == other.desc_.sync;
  }
  void *raw() const { return q_; }
  uint64_t token() const { return token_; }
  uint64_t next_event() const;
  void forget() { is_forgotten_ = true; }        // the destructor does not wait for ops in flight

  // One call. Returns the number of accepted ops; the first is entry accepted() minus that number.
  uint32_t submit(const consort_op *, uint32_t n);
  size_t accepted() const { return book_.size(); }
  size_t in_flight() const { return book_.size() - over_; }
  consort_ticket ticket(size_t entry) const { return {token_, entry + 1}; }
  const Entry &operator[](size_t entry) const { return book_[entry]; }
  const std::vector<size_t> &order() const { return order_; }  // in the order of their completions

  // One call for at most `max` completions. Returns their number.
  uint32_t poll(uint32_t max = 16);
  // Retries until there is room; returns the entry.
  size_t send(const consort_op &);
  // The same by another function, which returns OK, CONSORT_AGAIN if there is no room, or an error.
  size_t send_by(const consort_op &, const std::function<consort_status(const consort_op *)> &);
  void wait();                                   // for all ops in flight
  consort_status run(const consort_op &);        // alone, to its completion
  void rest(uint64_t *idle);                     // after a poll without completions

 private:
  void take(const consort_done &);

  Devices &devices_;
  Trial &t_;
  const consort_driver_ops &ops_;
  void *q_ = nullptr;
  uint64_t token_, base_;
  consort_queue_desc desc_{};
  LentMemory lent_;
  std::vector<Entry> book_;
  std::vector<size_t> order_;
  size_t over_ = 0, pushed_ = 0;
  bool is_forgotten_ = false;
};

// An op without a task. submit() sets its cookie.
consort_op op_of(uint16_t kind);
consort_op copy_op(const consort_copy &);

}  // namespace conform
