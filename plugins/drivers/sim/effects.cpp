// Effects of ops: bytes moved, functions called; the threads for that in real time; device loss.
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "engine.hpp"

namespace sim {
namespace {

char *at(consort_addr a) noexcept { return reinterpret_cast<char *>(a.base + a.off); }

}  // namespace

void move_bytes(const consort_copy &c) noexcept {
  for (uint64_t z = 0; z < c.n[1]; ++z)
    for (uint64_t y = 0; y < c.n[0]; ++y) {
      const auto sz = static_cast<int64_t>(z), sy = static_cast<int64_t>(y);
      std::memmove(at(c.dst) + sz * c.dst_step[1] + sy * c.dst_step[0],
                   at(c.src) + sz * c.src_step[1] + sy * c.src_step[0], c.run);
    }
}

void fill_bytes(const consort_fill &f) noexcept {
  char *p = at(f.dst);
  for (uint64_t i = 0; i < f.run; i += 4) std::memcpy(p + i, &f.pattern, std::min<uint64_t>(4, f.run - i));
}

// -- losing a device --------------------------------------------------------------------------------------------------

// Ops whose function does not run complete at once; the others when it returns.
void Engine::lose(Device &d, uint64_t t) noexcept {
  if (!d.lost) say(d, 3, "the device is lost"), ++untold_;
  d.lost = true;
  for (Queue *q : queues_) {
    if (q->device != &d) continue;
    for (auto &op : q->ops) {
      op->status = CONSORT_E_DEVICE_LOST;
      if (op->effect == Op::kDue) {
        std::erase(q->effects, op.get());
        std::erase(effects_, op.get());
        op->effect = Op::kNone;
      }
      if (op->stage == Op::kArrives) op->stage = Op::kWaits, std::erase(active_, op.get());
      if (op->stage != Op::kWaits) op->stage = Op::kHeld;
    }
    for (size_t i = 0; i < q->ops.size();) {
      Op &op = *q->ops[i];
      if (op.effect == Op::kRunning) {
        if (q->in_order) break;  // later ops are reported after it
        ++i;
      } else if (op.stage == Op::kWaits) {
        op.start = t;
        over(op, t);
      } else {
        over(op, t);
      }
    }
  }
  share();
}

void Engine::tell(std::unique_lock<std::mutex> &lock) noexcept {
  for (size_t i = 0; i < devices_.size(); ++i) {
    Device *d = devices_[i];
    if (!d->lost || d->told) continue;
    const bool open = std::any_of(queues_.begin(), queues_.end(), [&](const Queue *q) {
      return q->device == d && (!q->ops.empty() || !q->done.empty());
    });
    if (open) continue;
    d->told = true;
    --untold_;
    lock.unlock();
    host->event(host, CONSORT_EV_DEVICE_LOST, d->token, 0);
    lock.lock();
  }
}

// -- effects ----------------------------------------------------------------------------------------------------------

void Engine::play(Op &op, std::unique_lock<std::mutex> &lock) noexcept {
  op.effect = Op::kRunning;
  consort_status status = CONSORT_OK;
  lock.unlock();
  const uint64_t before = now();
  if (op.op.kind == CONSORT_OP_COPY) {
    move_bytes(op.op.u.copy);
  } else if (op.op.kind == CONSORT_OP_FILL) {
    fill_bytes(op.op.u.fill);
  } else {
    consort_call *call = op.op.u.call.call;
    call->native_queue = call->native_context = nullptr;
    status = op.op.u.call.fn(call);
  }
  op.took = now() - before;
  lock.lock();
  effect_over(op, status);
}

void Engine::effect_over(Op &op, consort_status status) noexcept {
  advance(now());  // the op stays until its effect is done
  stale_ = true;
  op.effect = Op::kDone;
  if (status < 0 && op.status == CONSORT_OK) op.status = status;
  if (op.stage == Op::kMeasured) {
    const auto whole = static_cast<uint64_t>(static_cast<double>(op.took) * op.stretch);
    op.stage = Op::kTimed;
    op.until = std::max(clock_, op.least + whole);
    if (op.until <= clock_) modelled(op, clock_);
  } else if (op.stage == Op::kHeld) {
    Device &d = *op.queue->device;
    over(op, clock_);             // destroys op
    if (d.lost) lose(d, clock_);  // completes ops that waited for it
  }
  begin_ready(clock_);
}

void Engine::play_effects(std::unique_lock<std::mutex> &lock) noexcept {
  while (!effects_.empty()) {
    Op *op = effects_.front();
    effects_.erase(effects_.begin());
    play(*op, lock);
  }
}

// The queue's thread, in real time.
void Engine::serve(Queue &q) noexcept {
  std::unique_lock lock(mutex);
  for (;;) {
    q.changed.wait(lock, [&] { return q.stop || !q.effects.empty(); });
    if (q.effects.empty()) return;
    Op *op = q.effects.front();
    q.effects.erase(q.effects.begin());
    play(*op, lock);
    if (next_event() < waking_) news_.notify_all();
    tell_losses(lock);
  }
}

// The clock's thread, in real time: performs due events also without a poll.
void Engine::keep_time() noexcept {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  std::unique_lock lock(mutex);
  while (!stop_) {
    const uint64_t t = now();
    advance(t);
    tell_losses(lock);
    if (stop_) break;
    const uint64_t next = next_event();
    waking_ = next;
    if (next == CONSORT_NEVER)
      news_.wait(lock);
    else if (next > t)
      news_.wait_for(lock, std::chrono::nanoseconds(std::min<uint64_t>(next - t, 1'000'000'000)));
    waking_ = 0;
  }
}

}  // namespace sim
