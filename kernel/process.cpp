#include "process.hpp"

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "spin.hpp"

namespace consort::process {
namespace {

constexpr size_t kMostAlive = 1024;

constinit SpinLock lock;
constinit size_t next_shell = 0;
constinit std::atomic<uint64_t> last_number{0};
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
    if (!s->live.load(std::memory_order_relaxed)) out = s;
  }
  if (out) out->live.store(rt, std::memory_order_release);
  lock.unlock();
  return out;
}

void close_shell(consort_runtime *s) noexcept { s->live.store(nullptr, std::memory_order_release); }

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

void if_alive(uint64_t number, void (*f)(Hand &), Hand &hand) noexcept {
  lock.lock();
  for (const uint64_t slot : alive)
    if (slot == number) {
      f(hand);
      break;
    }
  lock.unlock();
}

}  // namespace consort::process
