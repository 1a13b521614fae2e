// instance.hpp — the running instance of the layer: the runtime below it, its workers, the count of unfinished tasks.
#pragma once
#include <consort/consort.h>
#include <starpu.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace starpu_layer {

// The tasks that were submitted and have not ended. A thread that waits for them runs none. Any thread.
class Unfinished {
 public:
  void add() { count_.fetch_add(1); }
  // Counts one task less and wakes those that wait for so few.
  void remove() {
    count_.fetch_sub(1);
    if (waiting_.load()) wake();
  }
  int64_t now() const { return count_.load(); }
  void wait_until_at_most(int64_t n) {
    wait([&] { return count_.load() <= n; });
  }
  // Waits until the condition holds, which the end of some task makes true before it calls remove().
  template <class Condition>
  void wait(Condition holds) {
    if (holds()) return;
    std::unique_lock lock(lock_);
    waiting_.fetch_add(1);
    ended_.wait(lock, holds);
    waiting_.fetch_sub(1);
  }

 private:
  void wake();
  alignas(64) std::atomic<int64_t> count_{0};
  std::atomic<uint32_t> waiting_{0};
  std::mutex lock_;
  std::condition_variable ended_;
};

// Counters of one worker. Written by the worker alone.
struct WorkerCounts {
  std::atomic<uint64_t> tasks{0}, busy_ns{0};
};

struct WorkerFacts {
  std::string name;
  starpu_worker_archtype type = STARPU_CPU_WORKER;
  uint32_t mask = 0;  // STARPU_CPU …
  int device = 0, core = -1;
  unsigned node = 0;
};

struct Instance {
  consort_runtime *rt = nullptr;
  std::vector<WorkerFacts> workers;
  std::unique_ptr<WorkerCounts[]> counts;
  std::vector<std::string> nodes;
  uint32_t kinds = 0;  // which kinds of workers there are
  int least_priority = 0, most_priority = 0;
  int64_t submitted_most = 0, submitted_least = 0;  // 0: no limit
  uint64_t started_ns = 0;
  Unfinished unfinished;  // written all the time, and therefore apart from the rest
};
extern Instance instance;

// What the calling thread runs: the codelet's function of a task, or one of the task's callbacks.
struct alignas(32) Running {  // so is the library's thread-local block: tests/checks/thread_locals.py says why
  starpu_task *task = nullptr;
  uint32_t impl = 0, rank = 0, team = 1;
};
extern thread_local Running running;
extern thread_local int callback_depth;

// Whether the calling thread must not wait for tasks: it runs one, or a callback.
inline bool must_not_wait() { return running.task || callback_depth; }

struct InCallback {
  InCallback() { ++callback_depth; }
  ~InCallback() { --callback_depth; }
};

// Blocks while starpu_pause() holds. Called before each function of a codelet.
void wait_while_paused();

uint64_t now_ns();
// The negative errno that StarPU's calls answer with for this status.
int errno_of(consort_status status);
// Ends the program with the text of the last error: StarPU's calls that answer nothing have no other way.
void must(consort_status status, const char *call);
// A number from the environment; dflt where the variable is not set or is not a number.
long environment_number(const char *name, long dflt);

}  // namespace starpu_layer
