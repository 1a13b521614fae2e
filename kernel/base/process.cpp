#include "base/process.hpp"

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "base/fence.hpp"
#include "base/spin.hpp"

namespace consort::process {
namespace {

constexpr size_t kMostAlive = 1024;

constinit SpinLock lock;
constinit size_t next_shell = 0;
constinit std::atomic<uint64_t> last_number{0};  // relaxed: numbers only have to be distinct
constinit uint64_t alive[kMostAlive] = {};

}  // namespace

constinit consort_runtime *all_shells = nullptr;

consort_runtime *open_shell(Runtime *rt) noexcept {
  lock.lock();
  if (!all_shells) {
    void *p =
        mmap(nullptr, kShells * sizeof(consort_runtime), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED) {
      (void)madvise(p, kShells * sizeof(consort_runtime), MADV_WIPEONFORK);
      all_shells = static_cast<consort_runtime *>(p);
    }
  }
  consort_runtime *out = nullptr;
  for (size_t i = 0; all_shells && !out && i < kShells; ++i) {
    consort_runtime *s = &all_shells[next_shell++ % kShells];
    if (!s->state.load(std::memory_order_relaxed)) out = s;
  }
  if (out) {
    out->state.store(reinterpret_cast<uintptr_t>(rt), std::memory_order_release);
    // If the light fence is a full fence, `live` stays empty and every call takes the slower way through `state`, which
    // has a full fence.
    if (fence::asymmetric()) out->live.store(rt, std::memory_order_release);
  }
  lock.unlock();
  return out;
}

bool begin_stop(consort_runtime *s) noexcept {
  uintptr_t seen = s->state.load(std::memory_order_relaxed);
  if (!seen || consort_runtime::phase(seen) != consort_runtime::kOpen ||
      !s->state.compare_exchange_strong(seen, seen | consort_runtime::kDraining, std::memory_order_acq_rel))
    return false;
  s->live.store(nullptr, std::memory_order_release);
  return true;
}

void set_phase(consort_runtime *s, consort_runtime::Phase p) noexcept {
  const uintptr_t rt = s->state.load(std::memory_order_relaxed) & ~consort_runtime::kPhase;
  s->state.store(p == consort_runtime::kGone ? uintptr_t{p} : rt | p, std::memory_order_release);
  fence::heavy();  // pairs with light() in ApiCall: a caller sees the phase, or its mark is seen from here on
}

// `live` first: once the state is open another thread may begin a stop, which clears `live` after this store.
void cancel_stop(consort_runtime *s) noexcept {
  if (fence::asymmetric())
    s->live.store(consort_runtime::runtime(s->state.load(std::memory_order_relaxed)), std::memory_order_release);
  set_phase(s, consort_runtime::kOpen);
}

void end_stop(consort_runtime *s) noexcept {
  s->stops.fetch_add(1, std::memory_order_release);
  s->state.store(0, std::memory_order_release);
}

bool is_shell(const consort_runtime *s) noexcept { return all_shells && s >= all_shells && s < all_shells + kShells; }

uint64_t next_number() noexcept { return last_number.fetch_add(1, std::memory_order_relaxed) + 1; }

void enter(uint64_t number) noexcept {
  lock.lock();
  for (uint64_t &slot : alive)
    if (!slot) {
      slot = number;
      break;
    }
  lock.unlock();
}

void leave(uint64_t number) noexcept {
  lock.lock();
  for (uint64_t &slot : alive)
    if (slot == number) slot = 0;
  lock.unlock();
}

bool is_alive(uint64_t number) noexcept {
  lock.lock();
  bool found = false;
  for (const uint64_t slot : alive) found |= slot == number;
  lock.unlock();
  return found;
}

void if_alive(uint64_t number, void (*f)(ThreadState &), ThreadState &thread) noexcept {
  lock.lock();
  for (const uint64_t slot : alive)
    if (slot == number) {
      f(thread);
      break;
    }
  lock.unlock();
}

}  // namespace consort::process
