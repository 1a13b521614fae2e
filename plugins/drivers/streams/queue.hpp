// queue.hpp — a driver's queue over a vendor's own: ops become the vendor's commands as they are submitted.
//
// A ring of the ops in flight, each with the mark of its last command. poll() asks the marks, arm() has the oldest
// (without order: each) ring a bell when it is over; nothing else calls back. What may stand still while it is issued, a
// host function above all, runs on a helper thread, started when the first of them comes; so does whatever was submitted
// behind one until it is through. Its own calls are [queue]; the ring is guarded by the device's mutex, because the
// helper and other queues look at it.
//
// A Lane is the vendor's side of one queue:
//   Device, Mark                        types; a Device is an Owner<Lane> with depth()
//   open(unit), in_order()              [control]
//   blocks(op)                          may stand still while it is issued
//   Session(Lane &)                     lives on the stack around issue() and flush(), on the thread that calls them
//   issue(op, Issued &), flush()        one thread at a time; says in Issued what became of it
//   state(Mark, status *, why *)        kPending, kOver, kLost; status < 0 and words where it went wrong
//   call_back(Mark, Bell *)             rings a kept bell when it is over; false: it has to be asked
//   times(first, last, seen, done *)    t0 and t1, on the host's clock
//   keep(Mark), drop(Mark)              counts who refers to it; any thread
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "wake_fd.hpp"
#include "issued.hpp"
#include "owner.hpp"

namespace streams {

enum class State { kPending, kOver, kLost };
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
    q->bell_ = Bell::make();
    if (!q->bell_) return d.fail(CONSORT_E_NOMEM, "no event fd for a queue: raise the limit of open files");
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
    if (!bell_) return;
    bell_->wait_for_callbacks(dev_.lost);
    bell_->drop();
  }
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  int fd() const noexcept { return bell_->fd(); }
  Device &device() noexcept { return dev_; }
  Lane &lane() noexcept { return lane_; }
  uint64_t token() const noexcept { return token_; }

  uint32_t submit(const consort_op *ops, uint32_t n) noexcept {
    uint32_t i = 0;
    bool flush = false;
    const typename Lane::Session session(lane_);
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
        if (must_be_helped(op)) {
          later_.push_back({op, {op.wait, op.wait + op.nwait}, seq});
          if (start_helper()) {
            dev_.changed.notify_all();
            continue;
          }
          later_.pop_back();
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
      what.more = i + 1 < n && next_ - first_ < ring_.size() && !must_be_helped(ops[i + 1]);
      // Nobody else issues here now: the helper has nothing to do until something is put there.
      issuing_ = true;
      lock.unlock();
      issue(op, seq, what);
      lock.lock();
      issuing_ = false;
      flush = true;
    }
    bool uncovered = false;
    for (uint64_t seq = next_; !uncovered && seq > first_ && next_ - seq < i; --seq) uncovered = slot(seq - 1).later;
    lock.unlock();
    if (uncovered) mark_what_is_there();
    if (flush) lane_.flush();
    if (dev_.lost.load(std::memory_order_relaxed)) dev_.tell_if_lost();
    return i;
  }

  uint32_t poll(consort_done *out, uint32_t max) noexcept {
    uint32_t n = 0;
    char why[sizeof Slot::why] = "";
    {
      const std::lock_guard lock(dev_.mutex);
      for (uint64_t seq = first_; n < max && seq < next_ && !*why; ++seq) {
        Slot &s = slot(seq);
        if (s.told) continue;
        if (!over(s)) {
          if (lane_.in_order()) break;
          continue;
        }
        if (s.status < 0) std::memcpy(why, s.why, sizeof why);  // words are of the last that is reported: no more this time
        report(s, &out[n++]);
        s.told = true;
      }
      while (first_ < next_ && slot(first_).told) ++first_;
    }
    if (*why) dev_.fail(out[n - 1].status, why);
    if (dev_.lost.load(std::memory_order_relaxed)) dev_.tell_if_lost();
    return n;
  }

  consort_status arm() noexcept {
    bell_->hush();  // before the look: what is over from here on rings again
    const std::lock_guard lock(dev_.mutex);
    for (uint64_t seq = first_; seq < next_; ++seq) {
      Slot &s = slot(seq);
      if (s.told) continue;
      if (!s.issued || s.later) unbelled_ = true;
      else if (over(s) || !ring_for(s)) return CONSORT_E_BUSY;
      if (lane_.in_order()) break;
    }
    return CONSORT_OK;
  }

  // With the device's mutex held:
  void give_all_back() noexcept {  // the device is lost
    for (uint64_t seq = first_; seq < next_; ++seq) {
      Slot &s = slot(seq);
      if (s.told) continue;
      const bool waits = std::any_of(later_.begin(), later_.end(), [&](const Later &l) { return l.seq == seq; });
      if (!s.issued && !waits) continue;  // in somebody's hands just now: it is given back when it comes out of them
      end(s, CONSORT_E_DEVICE_LOST);
    }
    later_.clear();
    bell_->ring();
  }
  bool is_issuing() const noexcept { return in_helper_ || issuing_; }

 private:
  struct Slot {
    uint64_t cookie, bytes, seen;  // seen: host's clock when its first command was given
    Mark first, last;
    consort_status status;
    bool issued, later, belled, told;  // later: the mark of an op behind it will be its own; told: though older ones are not
    char why[200];                     // of a status < 0, as far as there are words
    unsigned char scratch[kScratch];
  };
  struct Later {  // for the helper
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
    s.later = false;
  }

  // -- tickets: with the mutex; the mark is kept for whoever asked

  Place place_of(uint64_t seq, Mark *out) noexcept {
    // One that was refused has no mark: whoever waits for it waits for what is before it in order.
    for (; seq >= first_; --seq) {
      const Slot &s = slot(seq);
      if (!s.issued || s.later) return Place::kNotYet;
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
  // What is in the helper's hands comes first; or it may block; or it waits for what another queue has not issued.
  bool must_be_helped(const consort_op &op) noexcept {
    if (!later_.empty() || in_helper_ || lane_.blocks(op)) return true;
    for (uint32_t i = 0; i < op.nwait; ++i) {
      Mark m{};
      const Place p = find(op.wait[i], &m);
      if (m) lane_.drop(m);
      if (p == Place::kNotYet) return true;
    }
    return false;
  }

  // Makes commands of an op. Its slot changes under the mutex only when all is said.
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
    s.later = what.later;
    s.status = dev_.lost.load(std::memory_order_relaxed) ? CONSORT_E_DEVICE_LOST : what.status;
    if (s.status < 0) std::snprintf(s.why, sizeof s.why, "%s", what.why.c_str());
    s.issued = true;
    if (!s.later) cover(seq, s.last);
    if (unbelled_ && !s.later) {  // somebody sleeps who could not be told by this op's mark
      unbelled_ = false;
      bell_->ring();
    }
    dev_.changed.notify_all();
    if (what.lost && !dev_.lost.load(std::memory_order_relaxed)) dev_.lose();
  }
  // The mark serves for all right before `seq` that have none of their own.
  void cover(uint64_t seq, Mark mark) noexcept {
    for (; seq > first_ && slot(seq - 1).later; --seq) {
      Slot &s = slot(seq - 1);
      if (mark) lane_.keep(mark);
      s.last = mark;
      s.later = false;
    }
  }
  // What was to come behind an op without a mark was refused.
  void mark_what_is_there() noexcept {
    consort_op op{};
    op.kind = CONSORT_OP_MARK;
    Issued<Mark> what;
    lane_.issue(op, what);
    const std::lock_guard lock(dev_.mutex);
    uint64_t seq = next_;
    while (seq > first_ && !slot(seq - 1).later) --seq;
    cover(seq, what.last);
    if (what.last) lane_.drop(what.last);
    if (what.lost && !dev_.lost.load(std::memory_order_relaxed)) dev_.lose();
  }

  // -- the helper

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
      dev_.changed.wait(lock, [&] { return stop_ || !later_.empty(); });
      if (later_.empty()) return;  // to be closed, and nothing is left
      Later l = std::move(later_.front());
      later_.pop_front();
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
        bell_->ring();
        dev_.changed.notify_all();
      }
      if (dev_.lost.load(std::memory_order_relaxed)) {
        bell_->ring();
        lock.unlock();
        dev_.tell_if_lost();
        lock.lock();
      }
    }
  }

  // -- out: with the mutex

  void drop_marks(Slot &s) noexcept {
    if (s.first) lane_.drop(s.first);
    if (s.last) lane_.drop(s.last);
    s.first = s.last = Mark{};
  }
  bool over(Slot &s) noexcept {
    if (!s.issued || s.later) return false;
    if (!s.last || s.status == CONSORT_E_DEVICE_LOST) return true;
    consort_status status = CONSORT_OK;
    std::string why;
    const State state = lane_.state(s.last, &status, &why);
    if (state == State::kPending) return false;
    if (status < 0) {
      if (s.status == CONSORT_OK) s.status = status;
      if (!*s.why) std::snprintf(s.why, sizeof s.why, "%s", why.c_str());
    }
    if (state == State::kLost && !dev_.lost.load(std::memory_order_relaxed)) dev_.lose();
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
  bool ring_for(Slot &s) noexcept {
    if (s.belled) return true;
    bell_->keep();
    if (lane_.call_back(s.last, bell_)) return s.belled = true;
    bell_->drop();
    return false;
  }

  Device &dev_;
  Lane lane_;
  uint64_t token_ = 0;
  std::vector<Slot> ring_;
  uint64_t first_ = 1, next_ = 1;  // seqs in flight: [first_, next_), less those told
  std::deque<Later> later_;
  bool in_helper_ = false, issuing_ = false, stop_ = false, unbelled_ = false;
  Bell *bell_ = nullptr;
  std::thread helper_;
};

}  // namespace streams
