// prio.cpp — one queue by priority: the task of highest priority starts next, among equals the one that came first.
//
// A Store for central.hpp, guarded by its lock. Tasks are linked through sched[]. With several unit classes there are
// lists per set of classes (`where`), and a worker takes the most urgent task that it can run. The highest waiting
// priority is published to the kernel, so that a less urgent successor goes through the queue.
#include "../central.hpp"
#include "../table.hpp"
#include "lists.hpp"

namespace prio {
namespace {

class Queues {
 public:
  static constexpr bool kShare = false;  // one at a time: later tasks may be more urgent

  explicit Queues(uint32_t nclasses) : nclasses_(nclasses) { changed(); }
  void resize(uint32_t nclasses) noexcept { nclasses_ = nclasses; }

  void append(consort_task *task) noexcept { queue_of(task->where).tasks.push(task); }

  // The most urgent task that one of the classes can run.
  consort_task *take(uint64_t classes) noexcept {
    Queue *best = nullptr;
    for (uint32_t i = 0; i < nqueues_; ++i) {
      Queue &q = queues_[i];
      if ((q.where & classes) && !q.tasks.empty() && (!best || q.tasks.top() > best->tasks.top())) best = &q;
    }
    return best ? best->tasks.pop() : nullptr;
  }

  // Only the first task of a list can be removed: cancelled tasks leave by pop.
  bool remove(const consort_task *) noexcept { return false; }

  void changed() noexcept {
    for (uint32_t c = 0; c < nclasses_; ++c) {
      int32_t most = INT32_MIN;
      for (uint32_t i = 0; i < nqueues_; ++i)
        if ((queues_[i].where >> c & 1) && !queues_[i].tasks.empty()) most = std::max(most, queues_[i].tasks.top());
      // pairs with the kernel's relaxed load: a hint. Its line stays with the readers while nothing changes.
      if (urgency_[c].load(std::memory_order_relaxed) != most) urgency_[c].store(most, std::memory_order_relaxed);
    }
  }

  const int32_t *urgency(uint32_t klass) const noexcept {
    static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t) && std::atomic<int32_t>::is_always_lock_free);
    return reinterpret_cast<const int32_t *>(&urgency_[klass < nclasses_ ? klass : 0]);
  }

 private:
  struct Queue {
    uint64_t where = 0;  // the classes that can run all its tasks
    Lists tasks;
  };
  // Includes a queue for each single class, and for none.
  static constexpr uint32_t kSets = 64, kQueues = kSets + 64 + 1;

  // One queue for each set of classes; beyond kSets, a set is reduced to its first class.
  Queue &queue_of(uint64_t where) noexcept {
    where = nclasses_ == 1 ? 1 : where & ~uint64_t{0} >> (64 - nclasses_);
    for (bool cut = false;; cut = true, where &= 0 - where) {
      for (uint32_t i = 0; i < nqueues_; ++i)
        if (queues_[i].where == where) return queues_[i];
      if (nqueues_ >= kSets && !cut) continue;
      queues_[nqueues_].where = where;
      return queues_[nqueues_++];
    }
  }

  uint32_t nclasses_, nqueues_ = 0;
  Queue queues_[kQueues];
  std::atomic<int32_t> urgency_[kSets];  // by class; stored under the lock, read by the kernel without
};

using Instance = policies::Central<Queues>;

const int32_t *urgency(void *s, uint32_t worker) noexcept {
  Instance &i = Instance::of(s);
  return i.store.urgency(worker < i.members.klass.size() ? i.members.klass[worker] : 0);
}

constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = policies::table_of_statics<Instance>(CONSORT_SF_ANY_ORDER);
  o.dropped = nullptr;  // inner tasks cannot be removed
  o.urgency = urgency;
  return o;
}();

constexpr consort_plugin plugin = policies::record("prio", "one queue, by priority", ops);

}  // namespace
}  // namespace prio

CONSORT_MODULE(prio, SCHEDULER, POLICY_FLAGS, "prio", "0.1.0", prio::plugin);
