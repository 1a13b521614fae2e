// sched_room.hpp — the state of the room sched, or of one above: workers, models and the policy "eager".
#pragma once
#include "model/models.hpp"
#include "sched/scheduling.hpp"
#include "task/task_room.hpp"

namespace consort_test {

// A worker that no thread steps: tests pop for it.
struct IdleWorker final : consort::Worker {
  using Worker::Worker;
};

template <class S>
class SchedulingOn : public CoreOn<S> {
 public:
  // own_workers: one IdleWorker for each unit. The room exec makes others.
  explicit SchedulingOn(const Pairs &pairs, bool own_workers = true) : CoreOn<S>(pairs) {
    for (const consort::Unit &u : this->topology->units()) {
      this->inline_classes |= uint64_t{1} << u.klass;
      if (own_workers) this->workers.push_back(idle_.emplace_back(std::make_unique<IdleWorker>(*this, u.desc.id, u)).get());
    }
    this->models->open();
    must(this->policies.open(*this, *must(this->registry->load(CONSORT_KIND_SCHEDULER, "eager"))));
  }
  ~SchedulingOn() {
    this->policies.close();
    this->models->close();
    this->workers.clear();
  }

  consort::Task *pop(uint32_t worker = 0) {  // nullptr: the policy has none for that worker
    consort_pick pick{};
    return this->policy.pop(worker, &pick) ? reinterpret_cast<consort::Task *>(pick.task) : nullptr;
  }

 private:
  std::vector<std::unique_ptr<IdleWorker>> idle_;
};

struct SchedRoom : SchedulingOn<consort::Scheduling> {
  explicit SchedRoom(const Pairs &pairs = {}) : SchedulingOn(pairs) {}
};

}  // namespace consort_test
