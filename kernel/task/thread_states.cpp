#include "task/thread_states.hpp"

#include <pthread.h>

#include <memory>
#include <new>
#include <vector>

#include "base/last_error.hpp"
#include "base/process.hpp"
#include "task/callback.hpp"
#include "task/core.hpp"

namespace consort {

thread_local constinit CurrentThread current_thread{0, nullptr};
thread_local constinit bool on_a_device = false;

namespace {

// of a worker's thread: for its whole life, and without an allocation
thread_local constinit CurrentThread own_thread{0, nullptr};

void abandon(ThreadState &thread) noexcept {
  thread.flush_records();
  thread.task = nullptr;
  thread.lease = nullptr;
  thread.recorder = nullptr;
  thread.watched &= ThreadState::kWatchedForRepeats;
  thread.watch.reset();
  thread.orphan.store(true, std::memory_order_release);  // pairs with the acquire in adopt_or_add()
}

// All states of this thread; abandons them when the thread ends. Under a pthread key, not thread_local: if registering
// the destructor fails for lack of memory, a key returns an error and thread_local aborts.
struct TaskLeftovers {
  struct Entry { uint64_t number; ThreadState *thread; };
  std::vector<Entry> entries;

  static TaskLeftovers *mine() noexcept { return static_cast<TaskLeftovers *>(pthread_getspecific(key())); }
  static TaskLeftovers &make() {  // may throw bad_alloc
    if (TaskLeftovers *b = mine()) return *b;
    auto b = std::make_unique<TaskLeftovers>();
    if (pthread_setspecific(key(), b.get())) throw std::bad_alloc();
    return *b.release();
  }
  ~TaskLeftovers() {
    current_thread = {0, nullptr};
    for (const Entry &e : entries) process::if_alive(e.number, abandon, *e.thread);
  }

 private:
  static pthread_key_t key() noexcept {
    static const pthread_key_t k = [] {
      pthread_key_t made{};
      pthread_key_create(&made, [](void *p) { delete static_cast<TaskLeftovers *>(p); });
      return made;
    }();
    return k;
  }
};

}  // namespace

ThreadStates::~ThreadStates() {
  for (uint32_t i = 0; i < n_.load(std::memory_order_relaxed); ++i) delete all_[i].load(std::memory_order_relaxed);
}

ThreadState *ThreadStates::adopt_or_add(Core &core, uint32_t batch) noexcept {
  std::lock_guard lock(mutex_);
  const uint32_t n = n_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < n; ++i) {
    ThreadState *thread = all_[i].load(std::memory_order_relaxed);
    bool orphan = true;
    if (thread->orphan.load(std::memory_order_relaxed) &&
        thread->orphan.compare_exchange_strong(orphan, false, std::memory_order_acquire))
      return thread;
  }
  if (n == kMost) return nullptr;
  ThreadState *thread = new (std::nothrow) ThreadState(core, static_cast<uint16_t>(n), batch, core.put_off_ends.get());
  if (!thread) return nullptr;
  if (core.detect_repeats) thread->watched = ThreadState::kWatchedForRepeats;
  all_[n].store(thread, std::memory_order_release);
  n_.store(n + 1, std::memory_order_release);
  return thread;
}

static void adopt_thread(const Core &core, ThreadState &thread) {
  auto &entries = TaskLeftovers::make().entries;
  if (entries.size() >= 16) std::erase_if(entries, [](const auto &e) { return !process::is_alive(e.number); });
  entries.push_back({core.number, &thread});
  current_thread = {core.number, &thread};
  thread.stack = {};
}

ThreadState *Core::find_thread() noexcept {
  if (ThreadState *thread = this_thread_if_any()) return thread;
  ThreadState *thread = threads.adopt_or_add(*this, return_batch);
  if (!thread) {
    set_error(CONSORT_E_NOMEM,
              "no memory for this thread's part of the runtime, or more than 4096 threads use it at once");
    return nullptr;
  }
  try {
    adopt_thread(*this, *thread);
  } catch (const std::bad_alloc &) {
    abandon(*thread);
    set_error(CONSORT_E_NOMEM, "no memory for this thread's part of the runtime");
    return nullptr;
  }
  return thread;
}

ThreadState *Core::this_thread_if_any() const noexcept {
  if (current_thread.number == number) return current_thread.thread;
  if (own_thread.number == number) return (current_thread = own_thread).thread;
  if (const TaskLeftovers *b = TaskLeftovers::mine())
    for (const auto &e : b->entries)
      if (e.number == number) {
        current_thread = {e.number, e.thread};
        return e.thread;
      }
  return nullptr;
}

ThreadState *worker_thread() noexcept { return own_thread.thread; }

void keep_thread(const Core &core, ThreadState &thread) noexcept {
  own_thread = current_thread = {core.number, &thread};
  thread.stack = {};
}

}  // namespace consort
