// ops.hpp — the ops of one queue from acceptance to report, in a fixed number of slots: only the text of a failure is
// allocated in between.
//
// Owned by a queue, which serialises calls. Ops start by priority, then by arrival, and end in any order.
#pragma once
#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "device.hpp"

namespace disk {

struct Op {
  Pieces pieces;
  uint64_t cookie = 0, t0 = 0, t1 = 0;
  uint32_t flying = 0;  // pieces in flight
  int32_t priority = 0;
  bool timed = false;
  consort_status status = CONSORT_OK;
  std::string text;  // why it failed
};

class Ops {
 public:
  Ops(Device &d, uint32_t depth) : dev_(d), slots_(depth) {
    for (auto *list : {&free_, &waiting_, &over_}) list->reserve(depth);
    for (Op &op : slots_) free_.push_back(&op);
  }

  bool has_room() const noexcept { return !free_.empty(); }
  bool idle() const noexcept { return free_.size() + over_.size() == slots_.size(); }  // nothing in flight
  bool has_waiting() const noexcept { return !waiting_.empty(); }
  bool has_over() const noexcept { return !over_.empty(); }

  // Requires has_room(). An invalid or empty op completes at once.
  void accept(const consort_op &in) noexcept {
    Op &op = *free_.back();
    free_.pop_back();
    op.pieces = Pieces();
    op.cookie = in.cookie;
    op.t0 = op.t1 = 0;
    op.flying = 0;
    op.priority = in.priority;
    op.timed = in.flags & CONSORT_OPF_TIME;
    op.text.clear();
    try {
      op.status = dev_.cut(in, &op.pieces, &op.text);
    } catch (...) {
      op.status = CONSORT_E_INVAL;
    }
    if (op.timed) op.t0 = now();
    if (op.status < 0 || op.pieces.at_end()) {
      op.pieces.stop();
      return end(op);
    }
    waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), op.priority,
                                     [](int32_t p, const Op *o) { return p > o->priority; }),
                    &op);
  }

  // The op whose next piece is due; nullptr: none. It stays at the front until its last piece is taken.
  Op *front() const noexcept { return waiting_.empty() ? nullptr : waiting_.front(); }
  Piece due(const Op &op) const noexcept { return op.pieces.due(dev_.rules); }
  void take(Op &op, const Piece &p) noexcept {  // p: from due()
    op.pieces.took(p);
    ++op.flying;
    if (op.pieces.at_end()) std::erase(waiting_, &op);
  }
  // Ends a piece. True: its op is complete.
  bool piece_over(Op &op, const Piece &p, const Outcome &o) noexcept {
    --op.flying;
    if (o.done < p.bytes || o.bad.bytes) fail(op, Device::status_of(o.error, op.pieces.to_file()), p, o);
    if (op.flying || !op.pieces.at_end()) return false;
    if (!op.pieces.to_file() && op.status >= 0)
      if (const int late = dev_.file.late_error()) fail(op, CONSORT_E_IO, p, {0, late, {}});
    end(op);
    return true;
  }
  // A failed op is the last one that a call reports, so the thread's last error belongs to it.
  uint32_t report(consort_done *out, uint32_t max) noexcept {
    uint32_t n = 0;
    while (n < max && n < over_.size()) {
      const Op &op = *over_[n];
      out[n] = {};
      out[n].cookie = op.cookie;
      out[n].status = op.status;
      out[n].source = CONSORT_NONE;
      out[n].bytes = op.status < 0 ? 0 : op.pieces.total();
      out[n].t0 = op.t0, out[n].t1 = op.t1;
      ++n;
      if (op.status >= 0) continue;
      dev_.driver.fail(op.status, op.text);
      break;
    }
    free_.insert(free_.end(), over_.begin(), over_.begin() + n);
    over_.erase(over_.begin(), over_.begin() + n);
    return n;
  }

 private:
  uint64_t now() const noexcept { return dev_.driver.host->now(dev_.driver.host); }
  void end(Op &op) noexcept {
    if (op.timed) op.t1 = now();
    over_.push_back(&op);
  }
  void drop(Op &op) noexcept {
    if (op.pieces.at_end()) return;
    op.pieces.stop();
    std::erase(waiting_, &op);
  }
  void say(Op &op, consort_status status, const std::string &text) noexcept {
    op.status = status;
    dev_.warn(text);
    try {
      op.text = text;
    } catch (...) {
    }
  }
  void fail(Op &op, consort_status status, const Piece &p, const Outcome &o) noexcept {
    if (op.status >= 0) {
      op.status = status;
      try {
        say(op, status, dev_.trouble(op.pieces, p.at, p.bytes, o));
      } catch (...) {
      }
    }
    drop(op);
  }

  Device &dev_;
  std::vector<Op> slots_;
  std::vector<Op *> free_, waiting_, over_;
};

// Calls carry(memory) to transfer a piece from or to the memory of its op, or through a buffer if that memory is not
// contiguous. The buffer is allocated at first use.
template <class Carry>
Outcome through_memory(Op &op, const Piece &p, Buffer &spare, uint64_t chunk, Carry carry) {
  const bool to_file = op.pieces.to_file();
  if (!p.memory && !spare) spare = buffer(chunk);
  char *const data = p.memory ? p.memory : spare.get();
  Outcome o;
  if (!data) return o.error = ENOMEM, o;
  if (!p.memory && to_file) op.pieces.gather(p, data);
  o = carry(data);
  if (!p.memory && !to_file && o.done == p.bytes && !o.bad.bytes) op.pieces.scatter(p, data);
  return o;
}

}  // namespace disk
