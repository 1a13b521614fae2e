// Blocks that wait for their next use.
#include "pool.hpp"

#include <cstdlib>

namespace starpu_layer {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr unsigned kBatch = 0;  // each block is freed, so that a late use is seen
#else
constexpr unsigned kBatch = 64;
#endif

void link(TaskBlock *block, TaskBlock *next) { block->task.next = reinterpret_cast<starpu_task *>(next); }
TaskBlock *linked(TaskBlock *block) { return reinterpret_cast<TaskBlock *>(block->task.next); }

// Batches of kBatch blocks that no thread keeps.
struct Store {
  SpinLock lock;
  std::vector<TaskBlock *> batches;
};
Store &store() {
  static Store *all = new Store;  // threads give back at any time: it has no end
  return *all;
}

struct Kept {
  TaskBlock *first = nullptr;
  unsigned n = 0;
  ~Kept() {
    while (first) std::free(std::exchange(first, linked(first)));
  }
};
thread_local Kept kept;

}  // namespace

TaskBlock *take_block() {
  if (!kept.first && kBatch) {
    Store &s = store();
    std::lock_guard lock(s.lock);
    if (!s.batches.empty()) {
      kept.first = s.batches.back();
      s.batches.pop_back();
      kept.n = kBatch;
    }
  }
  if (!kept.first) return static_cast<TaskBlock *>(std::malloc(sizeof(TaskBlock)));
  --kept.n;
  TaskBlock *block = kept.first;
  kept.first = linked(block);
  return block;
}

void give_block(TaskBlock *block) {
  if (!kBatch) return std::free(block);
  if (kept.n == 2 * kBatch) {  // the newer half goes to the others
    TaskBlock *batch = kept.first, *last = batch;
    for (unsigned i = 1; i < kBatch; ++i) last = linked(last);
    kept.first = linked(last);
    kept.n -= kBatch;
    link(last, nullptr);
    Store &s = store();
    std::lock_guard lock(s.lock);
    s.batches.push_back(batch);
  }
  link(block, kept.first);
  kept.first = block;
  ++kept.n;
}

}  // namespace starpu_layer
