#include "memory/mover.hpp"

#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"
#include "base/last_error.hpp"
#include "exec/executor.hpp"
#include "machine/topology.hpp"
#include "memory/transfer.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"

namespace consort {
namespace {

constexpr size_t kFar = 256;         // number of waiting copies examined

uint64_t bytes_of(const consort_copy &c) noexcept { return c.run * c.n[0] * c.n[1]; }

}  // namespace

Mover::Mover(const MoverSettings &settings, MoverOwner &owner, const Device &device, uint64_t token)
    : settings_(settings), spaces_(settings.topology.spaces().size()), owner_(owner), device_(device), token_(token) {}

Result<std::unique_ptr<Mover>> Mover::open(const MoverSettings &settings, MoverOwner &owner, const Device &device,
                                           uint64_t token) {
  std::unique_ptr<Mover> m(new Mover(settings, owner, device, token));
  m->ops_ = device.ops;
  consort_queue_desc desc{};
  desc.size = sizeof desc;
  clear_error();
  const consort_status s = plugin_status(device.ops->queue_open(device.dev, CONSORT_NONE, token, &desc, &m->q_),
                                         device.plugin->manifest->name, "queue_open()");
  if (s < 0)
    return error(s,
                 std::string("no queue for copies of driver '") + device.plugin->manifest->name + "': " + error_text());
  m->depth_ = desc.depth ? desc.depth : 1;
  const auto n = static_cast<uint32_t>(m->spaces_);
  m->flows_.resize(size_t{n} * n);
  m->buses_.resize(size_t{n} * n);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b) {
      const consort_link_desc &d = settings.topology.link(a, b).desc;
      m->flows_[size_t{a} * n + b] = LinkCredit(d.bytes_per_s, d.latency_ns, d.engines, settings.virtual_time);
    }
  if ((device.ops->flags & CONSORT_DRV_FD) && device.ops->event_fd) m->fd_ = device.ops->event_fd(m->q_);
  return m;
}

LinkCredit &Mover::flow(const consort_copy &c) noexcept {
  last_ = &flows_[c.src_space * spaces_ + c.dst_space];
  return *last_;
}

SharedLink *&Mover::bus(const consort_copy &c) noexcept {
  return buses_[c.src_space * spaces_ + c.dst_space];
}

void Mover::share(uint32_t from, uint32_t to, SharedLink &shared) {
  if (std::find(buses_.begin(), buses_.end(), &shared) == buses_.end()) {
    shared.join();
    awaited_.reserve(awaited_.capacity() + 1);
    before_.reserve(awaited_.capacity());
  }
  buses_[from * spaces_ + to] = &shared;
}

bool Mover::has(const std::vector<Turn> &turns, const SharedLink *b) noexcept {
  return std::any_of(turns.begin(), turns.end(), [b](const Turn &t) { return t.bus == b; });
}

bool Mover::choose(Op *op, bool wished) noexcept {
  LinkCredit &w = flow(op->op.u.copy);
  SharedLink *const shared = bus(op->op.u.copy);
  if (w.has_enough() || has(awaited_, shared)) return false;
  const uint64_t bytes = bytes_of(op->op.u.copy), now = settings_.clock.now();
  const int64_t order = wished ? SharedLink::kWish : op->order;
  if (shared && !shared->enter(*this, order, bytes, now)) {
    awaited_.push_back({shared, order});
    return false;
  }
  w.sent(bytes, now);
  flying_ += bytes;
  batch_[nbatch_++] = op;
  return true;
}

Mover::~Mover() {
  stop();
  for (const Turn &t : awaited_) t.bus->forget(*this);
  for (uint32_t i = 0; i < nbatch_; ++i) delete batch_[i];
  if (q_) ops_->queue_close(q_);
  for (Op *op : waiting_) delete op;
  for (auto &[priority, op] : wished_) delete op;
}

Result<void> Mover::start_thread() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception &e) {
    return error(CONSORT_E_NOMEM, std::string("no thread for the copies of a device: ") + e.what());
  }
  return {};
}

void Mover::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  parker_.wake();
  if (thread_.joinable()) thread_.join();
}

Mover::Waiting Mover::place(Waiting first, Waiting last, int64_t order) noexcept {
  return std::upper_bound(first, last, order, [](int64_t o, const Op *w) { return o < w->order; });
}

void Mover::enlist(Op *op) { waiting_.insert(place(waiting_.begin(), waiting_.end(), op->order), op); }

bool Mover::add(Transfer *t, const consort_copy *copies, uint32_t n, const int32_t *wished,
                int64_t order) noexcept try {
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t i = 0; i < n; ++i) {
    auto op = std::make_unique<Op>();
    op->transfer = t;
    op->op = {};
    op->op.kind = CONSORT_OP_COPY;
    op->op.flags = t->traced ? CONSORT_OPF_TIME : 0;
    op->op.codelet = op->op.impl = CONSORT_NONE;
    op->op.cookie = reinterpret_cast<uint64_t>(op.get());
    op->op.u.copy = copies[i];
    op->order = order;
    ops.push_back(std::move(op));
  }
  {
    std::lock_guard lock(mutex_);
    size_t taken = 0;
    try {
      for (; taken < ops.size(); ++taken)
        if (wished) wished_.emplace(*wished, ops[taken].get());
        else enlist(ops[taken].get());
    } catch (const std::bad_alloc &) {
      if (!wished) std::erase_if(waiting_, [&](const Op *w) { return w->transfer == t; });
      if (wished) std::erase_if(wished_, [&](const auto &w) { return w.second->transfer == t; });
      return false;
    }
    for (auto &op : ops) op.release();
  }
  nudge();
  return true;
} catch (const std::bad_alloc &) {
  return false;
}

void Mover::nudge() noexcept {
  if (settings_.virtual_time) return owner_.stir();  // no mover sleeps in virtual time
  // seq_cst with the store in rest(): either rest() sees the new work, or this thread sees that the mover sleeps
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_relaxed)) parker_.wake();
}

void Mover::hurry(Transfer *t, int64_t order) noexcept {
  {
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i]->transfer != t || waiting_[i]->order <= order) continue;
      waiting_[i]->order = order;
      const auto it = waiting_.begin() + static_cast<ptrdiff_t>(i);
      std::rotate(place(waiting_.begin(), it, order), it, it + 1);
    }
    for (auto w = wished_.begin(); w != wished_.end();) {
      if (w->second->transfer != t) {
        ++w;
        continue;
      }
      w->second->order = std::min(w->second->order, order);
      try {
        enlist(w->second);
      } catch (const std::bad_alloc &) {
        return;  // it is added as a prefetch
      }
      w = wished_.erase(w);
    }
  }
  nudge();  // prefetches held back may have credit on the link now
}

bool Mover::take_back(Transfer *t) noexcept {
  std::lock_guard lock(mutex_);
  const auto is_its = [&](const auto &w) { return w.second->transfer == t; };
  if (settings_.virtual_time) owner_.stir();  // it may have waited for its turn at a shared link
  if (std::count_if(wished_.begin(), wished_.end(), is_its) != static_cast<ptrdiff_t>(t->outstanding)) return false;
  for (auto w = wished_.begin(); w != wished_.end();) {
    if (!is_its(*w)) {
      ++w;
      continue;
    }
    delete w->second;
    w = wished_.erase(w);
  }
  return true;
}

void Mover::completed(const consort_done *done, uint32_t n) noexcept {
  {
    std::lock_guard lock(mutex_);
    pushed_.insert(pushed_.end(), done, done + n);  // capacity was reserved before submit()
  }
  if (settings_.virtual_time) owner_.stir();
  parker_.wake();
}

void Mover::finish(ThreadState &thread, const consort_done &done, const char *why) noexcept {
  std::unique_ptr<Op> op(reinterpret_cast<Op *>(done.cookie));
  --inflight_;
  const uint64_t bytes = bytes_of(op->op.u.copy);
  flying_ -= bytes;
  const uint64_t now = settings_.clock.now();
  if (Transfer &t = *op->transfer; done.t1 && done.t1 <= now) {  // the link is busy while bytes move, not from the request on
    t.began = t.ended ? std::min(t.began, done.t0) : done.t0;
    t.ended = std::max(t.ended, done.t1);
  }
  flow(op->op.u.copy).arrived(bytes, now);
  if (SharedLink *const shared = bus(op->op.u.copy)) shared->leave(bytes, now);
  if (done.status == CONSORT_E_DEVICE_LOST) owner_.lost(device_);
  const consort_status s = ended_status(done.status, device_.plugin->manifest->name, "a copy");
  owner_.copied(thread, op->transfer, s, s == done.status ? why : error_text());
}

// Precondition: the lock is held.
void Mover::choose_all() noexcept {
  awaited_.swap(before_);
  awaited_.clear();
  for (size_t i = 0; nbatch_ < kBatch && i < std::min(waiting_.size(), kFar) && inflight_ + nbatch_ < depth_;)
    if (choose(waiting_[i], false)) waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    else ++i;
  // Few at a time, because an urgent copy does not overtake copies that the device has.
  while (waiting_.empty() && !wished_.empty() && nbatch_ < kBatch && inflight_ + nbatch_ < depth_) {
    Op *const first = wished_.begin()->second;
    if (!flow(first->op.u.copy).has_room_for_wishes(inflight_ + nbatch_, flying_) || !choose(first, true)) break;
    wished_.erase(wished_.begin());
  }
  // What this mover waited for has been sent, or waits for something else: pass the turn to the next.
  for (const Turn &t : before_)
    if (!has(awaited_, t.bus)) t.bus->forget(*this);
}

bool Mover::may_enter() const noexcept {
  return std::any_of(awaited_.begin(), awaited_.end(), [this](const Turn &t) { return t.bus->has_room_for(*this); });
}

// Collects the completions that the driver reports by poll(). Returns whether there were any.
bool Mover::finish_polled(ThreadState &thread) noexcept {
  if (!inflight_) return false;
  consort_done done[32];
  clear_error();
  const uint32_t n = ops_->poll(q_, done, 32);
  // The driver's error text belongs to the last completion that it reports (driver.h).
  char why[400] = "";
  if (n && done[n - 1].status < 0) std::snprintf(why, sizeof why, "%s", error_text());
  for (uint32_t i = 0; i < n; ++i) finish(thread, done[i], i + 1 == n ? why : "");
  return n > 0;
}

// Likewise completions that the driver pushed.
bool Mover::finish_pushed(ThreadState &thread) noexcept {
  consort_done done[32];
  bool did = false;
  for (size_t pushed = std::size(done); pushed == std::size(done);) {
    {
      std::lock_guard lock(mutex_);
      pushed = std::min(pushed_.size(), std::size(done));
      std::copy_n(pushed_.begin(), pushed, done);
      pushed_.erase(pushed_.begin(), pushed_.begin() + static_cast<ptrdiff_t>(pushed));
    }
    for (size_t i = 0; i < pushed; ++i) finish(thread, done[i], "");
    did |= pushed > 0;
  }
  return did;
}

// Returns whether the driver accepted some of the batch.
bool Mover::submit_chosen() noexcept {
  if (!nbatch_) return false;
  consort_op ops[kBatch];
  for (uint32_t i = 0; i < nbatch_; ++i) ops[i] = batch_[i]->op;
  const uint32_t accepted = std::min(nbatch_, ops_->submit(q_, ops, nbatch_));
  inflight_ += accepted;
  nbatch_ -= accepted;
  std::copy_n(batch_ + accepted, nbatch_, batch_);
  return accepted;
}

bool Mover::step(ThreadState &thread) noexcept {
  bool did = owner_.take_hints(thread);
  did |= finish_polled(thread);
  did |= finish_pushed(thread);
  try {
    std::lock_guard lock(mutex_);
    choose_all();
    // Reserve capacity for the completions of all copies in flight: the driver may report them where nothing may fail.
    if (pushed_.capacity() < inflight_ + nbatch_) pushed_.reserve(2 * (size_t{inflight_} + nbatch_));
  } catch (const std::bad_alloc &) {
    return did;  // the batch is submitted in a later step
  }
  return submit_chosen() || did;
}

void Mover::rest() noexcept {
  constexpr int64_t kTick = 50'000;  // ns between two polls of a device without notification
  asleep_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with nudge()
  bool idle, stuck;
  {
    std::lock_guard lock(mutex_);
    const bool none = !nbatch_ && waiting_.empty() && wished_.empty();
    idle = pushed_.empty() && (none || inflight_ >= depth_);
    stuck = !none;
  }
  if ((idle || stuck) && !may_enter() && !owner_.has_hints()) {
    if (!inflight_)
      parker_.wait(stuck ? kTick : -1);
    else if (ops_->arm && ops_->arm(q_) == CONSORT_E_BUSY)
      parker_.wait(0);
    else if (ops_->arm && fd_ >= 0)
      parker_.wait_or_readable(fd_, -1);
    else
      parker_.wait(ops_->flags & CONSORT_DRV_PUSH ? -1 : kTick);
  }
  asleep_.store(false, std::memory_order_relaxed);
}

void Mover::run() {
  name_this_thread("copies");
  sharpen_timers_of_this_thread();
  ThreadState *thread = owner_.this_thread();
  uint32_t idle = 0;
  while (thread && !stopping_.load(std::memory_order_acquire)) {
    if (step(*thread))
      idle = 0;
    else if ((last_ && last_->takes_a_while()) || (idle += look_again_later(idle)) >= settings_.spin_rounds) {
      rest();
      idle = settings_.spin_rounds / 2;
    }
  }
}

}  // namespace consort
