#include "api/active_calls.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <utility>

namespace consort {
namespace {

constexpr uint32_t kMost = 1 << 16;

constinit CallRecord placeholder;
thread_local constinit CallRecord *innermost = nullptr;  // records of this thread, linked by `outer`
constinit std::atomic<CallRecord *> all{nullptr};        // kMost of them; release pairs with the acquire in records()
constinit std::atomic<uint32_t> used{0};              // records that ever had an owner, from 0; seq_cst, as the phase is

uintptr_t this_thread() noexcept { return reinterpret_cast<uintptr_t>(&visitor); }

CallRecord *records() noexcept {
  if (CallRecord *made = all.load(std::memory_order_acquire)) return made;
  constexpr size_t kBytes = kMost * sizeof(CallRecord);
  void *p = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  (void)madvise(p, kBytes, MADV_WIPEONFORK);
  CallRecord *none = nullptr;
  if (all.compare_exchange_strong(none, static_cast<CallRecord *>(p), std::memory_order_acq_rel))
    return static_cast<CallRecord *>(p);
  munmap(p, kBytes);  // another thread was first
  return none;
}

CallRecord *claim() noexcept {
  CallRecord *const first = records();
  for (uint32_t i = 0; first && i < kMost; ++i) {
    uintptr_t free = 0;
    // acquire and the release in release() transfer the record's other fields
    if (first[i].owner.load(std::memory_order_relaxed) ||
        !first[i].owner.compare_exchange_strong(free, this_thread(), std::memory_order_acquire))
      continue;
    // Before the record is marked: a stop that sees the mark also sees this count. seq_cst pairs with its heavy fence.
    for (uint32_t n = used.load(std::memory_order_relaxed); n <= i;)
      if (used.compare_exchange_weak(n, i + 1, std::memory_order_seq_cst)) break;
    first[i].inside.store(CallRecord::kOutside, std::memory_order_relaxed);
    first[i].outer = std::exchange(innermost, &first[i]);
    return &first[i];
  }
  return nullptr;
}

bool is_mine(const CallRecord &v) noexcept { return v.owner.load(std::memory_order_relaxed) == this_thread(); }

void release(CallRecord *v) noexcept {
  innermost = v->outer;
  // Not if a fork has emptied it: it may belong to another thread.
  uintptr_t mine = this_thread();
  v->owner.compare_exchange_strong(mine, 0, std::memory_order_release, std::memory_order_relaxed);
}

// Called at the thread's end. A later call from another destructor of this thread takes a record again.
void forget(void *first) noexcept {
  visitor = &placeholder;
  release(static_cast<CallRecord *>(first));
}

// Returns false if out of memory: then the end of the thread is not notified.
bool keep(CallRecord *v) noexcept {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, forget);
    return made;
  }();
  if (pthread_setspecific(key, v)) return false;
  visitor = v;
  return true;
}

}  // namespace

thread_local constinit CallRecord *visitor = &placeholder;

namespace visitors {

CallRecord *find(const consort_runtime *shell) noexcept {
  CallRecord *v = innermost;
  if (v && !is_mine(*v)) return nullptr;  // in the child of a fork
  while (v && v->inside.load(std::memory_order_relaxed) != reinterpret_cast<uintptr_t>(shell)) v = v->outer;
  return v;
}

CallRecord *take() noexcept {
  if (innermost && !is_mine(*innermost)) {  // in the child of a fork
    innermost = nullptr;
    visitor = &placeholder;
  }
  if (visitor->inside.load(std::memory_order_relaxed) == CallRecord::kOutside) return visitor;
  CallRecord *const v = claim();
  if (v && !v->outer) (void)keep(v);  // else the record is released after this call
  return v;
}

void give_back(CallRecord *v) noexcept {
  v->inside.store(CallRecord::kOutside, std::memory_order_release);
  if (v != visitor) release(v);
}

void leave(CallRecord *outermost) noexcept {
  while (innermost != outermost) give_back(innermost);
  give_back(outermost);
}

bool all_outside(const consort_runtime *shell, const CallRecord *mine, uint32_t *seen) noexcept {
  const CallRecord *const first = all.load(std::memory_order_acquire);
  const uint32_t n = first ? used.load(std::memory_order_seq_cst) : 0;
  const auto inside = [&](const CallRecord &v) {
    // acquire pairs with the release at the end of a call: the effects of the call are visible
    return &v != mine && v.inside.load(std::memory_order_acquire) == reinterpret_cast<uintptr_t>(shell);
  };
  while (*seen < n && !inside(first[*seen])) ++*seen;
  return *seen >= n;
}

}  // namespace visitors
}  // namespace consort
