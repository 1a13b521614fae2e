// prio.cpp — one queue by priority: the most urgent task starts next, among equals the one that became ready first.
//
// A Store for central.hpp, guarded by its lock. Tasks are linked through sched[]. With several unit classes there is a
// heap per set of classes (`where`), and a worker takes the most urgent of those that it can run. What is the most
// urgent is published to the kernel, so that a less urgent successor goes through the queue.
#include "../central.hpp"
#include "../table.hpp"
#include "heap.hpp"

namespace prio {
namespace {

class Queues {
 public:
  static constexpr bool kShare = false;  // one at a time, whatever is asked for: what comes later may be more urgent

  explicit Queues(uint32_t nclasses) : nclasses_(nclasses) { changed(); }
  void resize(uint32_t nclasses) noexcept { nclasses_ = nclasses; }

  void append(consort_task *task) noexcept { queue_of(task->where).heap.push(task); }

  // The most urgent that one of the classes can run.
  consort_task *take(uint64_t classes) noexcept {
    Queue *best = nullptr;
    for (uint32_t i = 0; i < nqueues_; ++i) {
      Queue &q = queues_[i];
      if ((q.where & classes) && !q.heap.empty() && (!best || q.heap.top() > best->heap.top())) best = &q;
    }
    return best ? best->heap.pop() : nullptr;
  }

  // The heap gives back its top alone: who is cancelled comes out by pop.
  bool remove(const consort_task *) noexcept { return false; }

  void changed() noexcept {
    for (uint32_t c = 0; c < nclasses_; ++c) {
      int32_t most = INT32_MIN;
      for (uint32_t i = 0; i < nqueues_; ++i)
        if ((queues_[i].where >> c & 1) && !queues_[i].heap.empty()) most = std::max(most, queues_[i].heap.top());
      urgency_[c].store(most, std::memory_order_relaxed);  // pairs with the kernel's relaxed load: a hint
    }
  }

  const int32_t *urgency(uint32_t klass) const noexcept {
    static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t) && std::atomic<int32_t>::is_always_lock_free);
    return reinterpret_cast<const int32_t *>(&urgency_[klass < nclasses_ ? klass : 0]);
  }

 private:
  struct Queue {
    uint64_t where = 0;  // the classes that can run all of these
    Heap heap;
  };
  // Room for each class alone, and for none, in any case.
  static constexpr uint32_t kSets = 64, kQueues = kSets + 64 + 1;

  // There is a queue for each set of classes that occurs; past kSets of them a set is cut to its first class.
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
  consort_scheduler_ops o = policies::table_of_statics<Instance>(0);
  o.dropped = nullptr;  // a heap would find nobody in its midst
  o.urgency = urgency;
  return o;
}();

#define PRIO_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = PRIO_FLAGS, .name = "prio", .version = "0.1.0",
    .summary = "one queue, the most urgent first", .license = "Apache-2.0", .params = nullptr, .nparams = 0,
    .reserved = 0, .ops = &ops, .init = policies::init_nothing, .quiesce = policies::quiet_already,
    .fini = policies::fini_nothing, .get = nullptr,
};

}  // namespace
}  // namespace prio

CONSORT_MODULE(prio, SCHEDULER, PRIO_FLAGS, "prio", "0.1.0", prio::plugin);
