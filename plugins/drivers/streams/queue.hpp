// queue.hpp — a driver's queue on top of a vendor's: submit() translates ops to the vendor's commands.
//
// A ring holds the ops in flight, each with the mark of its last command. poll() tests the marks. arm() registers a callback on the
// oldest mark (without order: on each) that signals the wake fd; there are no other callbacks. An op that may block during issue, such as
// a host function, runs on a helper thread, started at the first such op; ops submitted behind it run there too until it has
// returned. Calls of the driver are [queue]; the device's mutex guards the ring, because the helper and other queues read it.
//
// A Lane is the vendor's side of one queue:
//   Device, Mark                        types; a Device is an Owner<Lane> with depth()
//   open(unit), in_order()              [control]
//   blocks(op)                          whether issue() of it may block
//   Session(Lane &)                     lives on the stack around issue() and flush(), on the calling thread
//   issue(op, Issued &), flush()        one thread at a time; Issued returns the result
//   state(Mark, status *, why *)        kPending, kComplete, kLost; on failure status < 0 and a text
//   call_back(Mark, WakeFd *)           signals and releases the wake fd at completion; false: no callback, poll instead
//   times(first, last, seen, done *)    t0 and t1, on the host's clock
//   keep(Mark), drop(Mark)              reference count; any thread
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "wake_fd.hpp"
#include "issued.hpp"
#include "owner.hpp"

namespace streams {

enum class State { kPending, kComplete, kLost };
constexpr size_t kScratch = 16;

template <class Lane>
class Queue {
 public:
  using Device = typename Lane::Device;
  using Mark = typename Lane::Mark;

  static consort_status open(Device &d, uint32_t unit, uint64_t token, consort_queue_desc *out, Queue **result) {
    if (d.is_lost()) return d.fail(CONSORT_E_DEVICE_LOST, "the device is lost");
    std::unique_ptr<Queue> q(new Queue(d));
    q->token_ = token;
    q->ring_.resize(d.depth());
    if (const consort_status s = q->lane_.open(unit); s < 0) return s;
    q->wake_ = WakeFd::create();
    if (!q->wake_) return d.fail(CONSORT_E_NOMEM, "no event fd for a queue: raise the limit of open files");
    const uint32_t flags = CONSORT_Q_WAITS | (q->lane_.in_order() ? uint32_t{CONSORT_Q_IN_ORDER} : 0u);
    const consort_queue_desc desc{out->size, flags, d.token + 1, d.depth(), 0};
    std::memcpy(out, &desc, out->size < sizeof desc ? out->size : sizeof desc);
    const std::lock_guard lock(d.mutex);
    d.queues.push_back(q.get());
    *result = q.release();
    return CONSORT_OK;
  }

  ~Queue() {
    {
      const std::lock_guard lock(dev_.mutex);
      stop_ = true;
      dev_.changed.notify_all();
    }
    if (helper_.joinable()) helper_.join();
    {
      const std::lock_guard lock(dev_.mutex);
      std::erase(dev_.queues, this);
      dev_.changed.notify_all();
      for (; first_ < next_; ++first_) drop_marks(slot(first_));
    }
    if (!wake_) return;
    wake_->wait_for_callbacks(dev_.lost);
    wake_->release();
  }
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  int fd() const noexcept { return wake_->fd(); }
  Device &device() noexcept { return dev_; }
  Lane &lane() noexcept { return lane_; }
  uint64_t token() const noexcept { return token_; }

  uint32_t submit(const consort_op *ops, uint32_t n) noexcept {
    uint32_t i = 0;
    bool flush = false;
    const bool asleep = dev_.is_asleep();  // then the helper wakes the device, because that may block
    std::optional<typename Lane::Session> session;
    if (!asleep) session.emplace(lane_);
    std::unique_lock lock(dev_.mutex);
    for (; i < n && next_ - first_ < ring_.size(); ++i) {
      const consort_op &op = ops[i];
      const uint64_t seq = next_;
      Slot &s = slot(seq);
      s = {};
      s.cookie = op.cookie;
      ++next_;
      if (dev_.lost.load(std::memory_order_relaxed)) {
        end(s, CONSORT_E_DEVICE_LOST);
        continue;
      }
      Issued<Mark> what;
      consort_status trouble = CONSORT_OK;
      try {
        if (asleep || needs_helper(op)) {
          deferred_.push_back({op, {op.wait, op.wait + op.nwait}, seq});
          if (start_helper()) {
            dev_.changed.notify_all();
            continue;
          }
          deferred_.pop_back();
          trouble = CONSORT_E_NOMEM;
        } else {
          what.wait.reserve(op.nwait);
          for (uint32_t k = 0; k < op.nwait; ++k) {
            Mark m{};
            if (find(op.wait[k], &m) == Place::kIssued) what.wait.push_back(m);
          }
        }
      } catch (const std::bad_alloc &) {
        trouble = CONSORT_E_NOMEM;
      }
      if (trouble < 0) {
        for (Mark m : what.wait) lane_.drop(m);
        end(s, trouble);
        continue;
      }
      what.more = i + 1 < n && next_ - first_ < ring_.size() && !needs_helper(ops[i + 1]);
      // No other thread issues on this queue now: the helper is idle until deferred_ has an op.
      issuing_ = true;
      lock.unlock();
      issue(op, seq, what);
      lock.lock();
      issuing_ = false;
      flush = true;
    }
    bool unmarked = false;
    for (uint64_t seq = next_; !unmarked && seq > first_ && next_ - seq < i; --seq) unmarked = slot(seq - 1).unmarked;
    lock.unlock();
    if (unmarked) mark_unmarked();
    if (flush) lane_.flush();
    if (dev_.lost.load(std::memory_order_relaxed)) dev_.report_if_lost();
    return i;
  }

  uint32_t poll(consort_done *out, uint32_t max) noexcept {
    uint32_t n = 0;
    char why[sizeof Slot::why] = "";
    {
      const std::lock_guard lock(dev_.mutex);
      for (uint64_t seq = first_; n < max && seq < next_ && !*why; ++seq) {
        Slot &s = slot(seq);
        if (s.reported) continue;
        if (!is_complete(s)) {
          if (lane_.in_order()) break;
          continue;
        }
        if (s.status < 0) std::memcpy(why, s.why, sizeof why);  // the text belongs to the last reported op: stop here
        report(s, &out[n++]);
        s.reported = true;
      }
      while (first_ < next_ && slot(first_).reported) ++first_;
    }
    if (*why) dev_.fail(out[n - 1].status, why);
    if (dev_.lost.load(std::memory_order_relaxed)) dev_.report_if_lost();
    return n;
  }

  consort_status arm() noexcept {
    wake_->clear();  // cleared before the test: later completions signal it again
    const std::lock_guard lock(dev_.mutex);
    for (uint64_t seq = first_; seq < next_; ++seq) {
      Slot &s = slot(seq);
      if (s.reported) continue;
      if (!s.issued || s.unmarked) wake_on_issue_ = true;
      else if (is_complete(s) || !signal_for(s)) return CONSORT_E_BUSY;
      if (lane_.in_order()) break;
    }
    return CONSORT_OK;
  }

  // The device's mutex is held:
  void fail_all() noexcept {  // completes all ops, because the device is lost
    for (uint64_t seq = first_; seq < next_; ++seq) {
      Slot &s = slot(seq);
      if (s.reported) continue;
      const bool waits = std::any_of(deferred_.begin(), deferred_.end(), [&](const Deferred &l) { return l.seq == seq; });
      if (!s.issued && !waits) continue;  // being issued: issue() completes it
      end(s, CONSORT_E_DEVICE_LOST);
    }
    deferred_.clear();
    wake_->signal();
  }
  bool is_issuing() const noexcept { return in_helper_ || issuing_; }

 private:
  struct Slot {
    uint64_t cookie, bytes, seen;  // seen: host's clock at its first command
    Mark first, last;
    consort_status status;
    bool issued, unmarked, armed, reported;  // unmarked: a later op's mark will cover it; reported: possibly before older ops
    char why[200];                     // text for a status < 0, truncated
    unsigned char scratch[kScratch];
  };
  struct Deferred {  // an op for the helper thread
    consort_op op;
    std::vector<consort_ticket> wait;
    uint64_t seq;
  };
  enum class Place { kIssued, kNotYet, kComplete };

  explicit Queue(Device &d) : dev_(d), lane_(d) {}
  Slot &slot(uint64_t seq) noexcept { return ring_[seq % ring_.size()]; }
  const Slot &slot(uint64_t seq) const noexcept { return ring_[seq % ring_.size()]; }
  static void end(Slot &s, consort_status status) noexcept {
    s.status = status;
    s.issued = true;
    s.unmarked = false;
  }

  // -- tickets: mutex held; the caller gets a reference to the mark

  Place place_of(uint64_t seq, Mark *out) noexcept {
    // A refused op has no mark. In order, its successors wait for the ops before it.
    for (; seq >= first_; --seq) {
      const Slot &s = slot(seq);
      if (!s.issued || s.unmarked) return Place::kNotYet;
      if (s.last) {
        lane_.keep(s.last);
        *out = s.last;
        return Place::kIssued;
      }
      if (!lane_.in_order()) break;
    }
    return Place::kComplete;
  }
  Place find(const consort_ticket &t, Mark *out) const noexcept {
    if (t.queue == token_ && lane_.in_order()) return Place::kComplete;
    for (Queue *q : dev_.queues)
      if (q->token_ == t.queue) return t.seq < q->next_ ? q->place_of(t.seq, out) : Place::kComplete;
    return Place::kComplete;  // closed
  }
  // True if the helper has earlier ops, the op may block, or it waits for an op that another queue has not issued.
  bool needs_helper(const consort_op &op) noexcept {
    if (!deferred_.empty() || in_helper_ || lane_.blocks(op)) return true;
    for (uint32_t i = 0; i < op.nwait; ++i) {
      Mark m{};
      const Place p = find(op.wait[i], &m);
      if (m) lane_.drop(m);
      if (p == Place::kNotYet) return true;
    }
    return false;
  }

  // Issues the commands of an op. Its slot changes only at the end, under the mutex.
  void issue(const consort_op &op, uint64_t seq, Issued<Mark> &what) noexcept {
    Slot &s = slot(seq);
    what.time = op.flags & CONSORT_OPF_TIME;
    what.scratch = s.scratch;
    const uint64_t now = what.time ? dev_.host->now(dev_.host) : 0;
    lane_.issue(op, what);
    const std::lock_guard lock(dev_.mutex);
    s.first = what.first;
    s.last = what.last;
    s.bytes = what.bytes;
    s.seen = now;
    s.unmarked = what.unmarked;
    s.status = dev_.lost.load(std::memory_order_relaxed) ? CONSORT_E_DEVICE_LOST : what.status;
    if (s.status < 0) std::snprintf(s.why, sizeof s.why, "%s", what.why.c_str());
    s.issued = true;
    if (!s.unmarked) cover(seq, s.last);
    if (wake_on_issue_ && !s.unmarked) {  // arm() could not register on this op's mark
      wake_on_issue_ = false;
      wake_->signal();
    }
    dev_.changed.notify_all();
    if (what.lost && !dev_.lost.load(std::memory_order_relaxed)) dev_.mark_lost();
  }
  // Gives the mark to all unmarked ops right before `seq`.
  void cover(uint64_t seq, Mark mark) noexcept {
    for (; seq > first_ && slot(seq - 1).unmarked; --seq) {
      Slot &s = slot(seq - 1);
      if (mark) lane_.keep(mark);
      s.last = mark;
      s.unmarked = false;
    }
  }
  // Marks trailing unmarked ops whose successor was refused.
  void mark_unmarked() noexcept {
    consort_op op{};
    op.kind = CONSORT_OP_MARK;
    Issued<Mark> what;
    lane_.issue(op, what);
    const std::lock_guard lock(dev_.mutex);
    uint64_t seq = next_;
    while (seq > first_ && !slot(seq - 1).unmarked) --seq;
    cover(seq, what.last);
    if (what.last) lane_.drop(what.last);
    if (what.lost && !dev_.lost.load(std::memory_order_relaxed)) dev_.mark_lost();
  }

  // -- the helper thread

  bool start_helper() noexcept {
    if (helper_.joinable()) return true;
    try {
      helper_ = std::thread([this] { help(); });
      return true;
    } catch (...) {
      return false;
    }
  }

  void help() noexcept {
    std::unique_lock lock(dev_.mutex);
    for (;;) {
      dev_.changed.wait(lock, [&] { return stop_ || !deferred_.empty(); });
      if (deferred_.empty()) return;  // closing, and no op is left
      Deferred l = std::move(deferred_.front());
      deferred_.pop_front();
      in_helper_ = true;
      Issued<Mark> what;
      consort_status trouble = CONSORT_OK;
      for (const consort_ticket &t : l.wait) {
        Mark m{};
        Place p;
        dev_.changed.wait(lock, [&] { return (p = find(t, &m)) != Place::kNotYet || dev_.lost.load(std::memory_order_relaxed); });
        try {
          if (p == Place::kIssued) what.wait.push_back(m);
        } catch (const std::bad_alloc &) {
          lane_.drop(m);
          trouble = CONSORT_E_NOMEM;
        }
      }
      if (dev_.lost.load(std::memory_order_relaxed)) trouble = CONSORT_E_DEVICE_LOST;
      lock.unlock();
      if (trouble == CONSORT_OK && dev_.wake() < 0) trouble = CONSORT_E_DEVICE_LOST;
      if (trouble == CONSORT_OK) {
        const typename Lane::Session session(lane_);
        issue(l.op, l.seq, what);
        lane_.flush();
      } else {
        for (Mark m : what.wait) lane_.drop(m);
      }
      lock.lock();
      in_helper_ = false;
      if (trouble < 0) {
        end(slot(l.seq), trouble);
        wake_->signal();
        dev_.changed.notify_all();
      }
      if (dev_.lost.load(std::memory_order_relaxed)) {
        wake_->signal();
        lock.unlock();
        dev_.report_if_lost();
        lock.lock();
      }
    }
  }

  // -- completion: mutex held

  void drop_marks(Slot &s) noexcept {
    if (s.first) lane_.drop(s.first);
    if (s.last) lane_.drop(s.last);
    s.first = s.last = Mark{};
  }
  bool is_complete(Slot &s) noexcept {
    if (!s.issued || s.unmarked) return false;
    if (!s.last || s.status == CONSORT_E_DEVICE_LOST) return true;
    consort_status status = CONSORT_OK;
    std::string why;
    const State state = lane_.state(s.last, &status, &why);
    if (state == State::kPending) return false;
    if (status < 0) {
      if (s.status == CONSORT_OK) s.status = status;
      if (!*s.why) std::snprintf(s.why, sizeof s.why, "%s", why.c_str());
    }
    if (state == State::kLost && !dev_.lost.load(std::memory_order_relaxed)) dev_.mark_lost();
    return true;
  }
  void report(Slot &s, consort_done *out) noexcept {
    *out = {};
    out->cookie = s.cookie;
    out->status = s.status;
    out->source = CONSORT_NONE;
    out->bytes = s.status < 0 ? 0 : s.bytes;
    if (s.seen && s.last && s.status >= 0) lane_.times(s.first ? s.first : s.last, s.last, s.seen, out);
    drop_marks(s);
  }
  bool signal_for(Slot &s) noexcept {
    if (s.armed) return true;
    wake_->add_ref();
    if (lane_.call_back(s.last, wake_)) return s.armed = true;
    wake_->release();
    return false;
  }

  Device &dev_;
  Lane lane_;
  uint64_t token_ = 0;
  std::vector<Slot> ring_;
  uint64_t first_ = 1, next_ = 1;  // seqs in flight: [first_, next_), without reported ones
  std::deque<Deferred> deferred_;
  bool in_helper_ = false, issuing_ = false, stop_ = false, wake_on_issue_ = false;
  WakeFd *wake_ = nullptr;
  std::thread helper_;
};

}  // namespace streams
