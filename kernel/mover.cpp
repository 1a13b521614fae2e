#include "mover.hpp"

#include <algorithm>
#include <cstdio>

#include "error_slot.hpp"
#include "memory.hpp"
#include "runtime.hpp"
#include "transfer.hpp"

namespace consort {

Result<std::unique_ptr<Mover>> Mover::open(Runtime &rt, const Device &device, uint64_t token) {
  std::unique_ptr<Mover> m(new Mover(rt, device, token));
  m->ops_ = device.ops;
  consort_queue_desc desc{};
  desc.size = sizeof desc;
  clear_error();
  const consort_status s = device.ops->queue_open(device.dev, CONSORT_NONE, token, &desc, &m->q_);
  if (s < 0)
    return error(s,
                 std::string("no queue for copies of driver '") + device.plugin->manifest->name + "': " + error_text());
  m->depth_ = desc.depth ? desc.depth : 1;
  if ((device.ops->flags & CONSORT_DRV_FD) && device.ops->event_fd) m->fd_ = device.ops->event_fd(m->q_);
  return m;
}

Mover::~Mover() {
  stop();
  if (q_) ops_->queue_close(q_);
  for (Op *op : waiting_) delete op;
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

bool Mover::add(Transfer *t, const consort_copy *copies, uint32_t n) noexcept try {
  std::vector<std::unique_ptr<Op>> ops;
  for (uint32_t i = 0; i < n; ++i) {
    auto op = std::make_unique<Op>();
    op->transfer = t;
    op->op = {};
    op->op.kind = CONSORT_OP_COPY;
    op->op.codelet = op->op.impl = CONSORT_NONE;
    op->op.cookie = reinterpret_cast<uint64_t>(op.get());
    op->op.u.copy = copies[i];
    ops.push_back(std::move(op));
  }
  {
    std::lock_guard lock(mutex_);
    for (auto &op : ops) waiting_.push_back(op.get());
    for (auto &op : ops) op.release();
  }
  // seq_cst with the store in rest(): either it sees the copies, or we that it sleeps
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_relaxed)) parker_.wake();
  return true;
} catch (const std::bad_alloc &) {
  return false;
}

void Mover::completed(const consort_done *done, uint32_t n) noexcept {
  {
    std::lock_guard lock(mutex_);
    pushed_.insert(pushed_.end(), done, done + n);
  }
  parker_.wake();
}

void Mover::finish(Hand &h, const consort_done &done, const char *why) noexcept {
  std::unique_ptr<Op> op(reinterpret_cast<Op *>(done.cookie));
  --inflight_;
  rt_.memory.copied(h, op->transfer, done.status, why);
}

bool Mover::step(Hand &h) noexcept {
  bool did = false;
  consort_done done[32];
  if (inflight_) {
    clear_error();
    const uint32_t n = ops_->poll(q_, done, 32);
    // What the driver said by fail() is about the last that it reports (driver.h).
    char why[400] = "";
    if (n && done[n - 1].status < 0) std::snprintf(why, sizeof why, "%s", error_text());
    for (uint32_t i = 0; i < n; ++i) finish(h, done[i], i + 1 == n ? why : "");
    did |= n > 0;
  }
  std::vector<consort_done> pushed;
  Op *batch[16];
  uint32_t n = 0;
  {
    std::lock_guard lock(mutex_);
    pushed.swap(pushed_);
    while (n < 16 && n < waiting_.size() && inflight_ + n < depth_) batch[n] = waiting_[n], ++n;
  }
  for (const auto &d : pushed) finish(h, d, "");
  did |= !pushed.empty();
  if (!n) return did;
  consort_op ops[16];
  for (uint32_t i = 0; i < n; ++i) ops[i] = batch[i]->op;
  const uint32_t accepted = std::min(n, ops_->submit(q_, ops, n));
  inflight_ += accepted;
  std::lock_guard lock(mutex_);
  waiting_.erase(waiting_.begin(), waiting_.begin() + accepted);
  return did || accepted;
}

void Mover::rest() noexcept {
  constexpr int64_t kTick = 50'000;  // ns, between two polls of a device that tells nobody
  asleep_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with add()
  bool idle, stuck;
  {
    std::lock_guard lock(mutex_);
    idle = pushed_.empty() && (waiting_.empty() || inflight_ >= depth_);
    stuck = !waiting_.empty();
  }
  if (idle || stuck) {
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
  Hand *h = rt_.this_hand();
  uint32_t idle = 0;
  while (h && !stopping_.load(std::memory_order_acquire)) {
    if (step(*h))
      idle = 0;
    else if ((idle += look_again_later(idle)) >= rt_.spin_rounds) {
      rest();
      idle = rt_.spin_rounds / 2;
    }
  }
}

}  // namespace consort
