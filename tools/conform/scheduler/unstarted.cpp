// Popped tasks that never start: they fail while they are prepared. Neither `started` nor `finished` is called for them,
// and they are not pushed again. `load_ns` has such a task until it fails; then its worker pops again.
#include <memory>

#include "conform/scheduler/sleepers.hpp"

namespace conform {
namespace {

class Failing {
 public:
  Failing(Trial &t, std::vector<uint32_t> klass)
      : t_(t), plugin_(t), machine_((plugin_.host().set_virtual(1'000'000), plugin_.host()), std::move(klass)),
        tasks_(t.scaled(1000, 10000)) {
    tasks_.vary(t.random(), machine_.topology()->nclasses, false);
    i_ = std::make_unique<Instance>(t, plugin_, machine_, tasks_);
    sleepers_ = std::make_unique<Sleepers>(t, *i_);
    i_->submitted(tasks_.range(0, tasks_.size()));  // with work ahead, a fast worker leaves tasks to slow ones
  }

  void run(uint64_t most) {
    while (pushed_ < tasks_.size() && !t_.failed() && t_.has_time()) {
      push();
      prepare(most);
      push();             // the workers that prepare a task count as busy
      sleepers_->work();  // the others
      fail();
      sleepers_->work();
      check_none_left();
    }
  }

 private:
  void push() {
    const uint32_t n = machine_.nworkers();
    const size_t batch = 1 + t_.random().below(t_.random().one_in(4) ? 2 * n : 2);
    const uint32_t from = t_.random().one_in(2) ? CONSORT_NONE : static_cast<uint32_t>(t_.random().below(n));
    const auto some = tasks_.range(pushed_, pushed_ + batch);
    if (some.empty()) return;
    t_.doing("push of tasks %zu to %zu, after %zu that failed before they started", pushed_, pushed_ + some.size() - 1, nfailed_);
    sleepers_->push(from, some);
    pushed_ += some.size();
  }
  // Some of the awake workers pop up to that many tasks, which will fail.
  void prepare(uint64_t most) {
    i_->then = Instance::Then::kFails;
    for (uint32_t w = 0; w < machine_.nworkers(); ++w) {
      if (!sleepers_->is_awake(w) || t_.random().one_in(3)) continue;
      uint64_t load = 0;
      for (uint64_t k = 1 + t_.random().below(most); k > 0; --k) {
        const consort_task *task = i_->pop(w);
        if (!task) break;
        load += Machine::run_ns(*task, machine_.classes()[w]);
        machine_.set_load(w, static_cast<float>(load));
        ++nfailed_;
      }
      if (load) preparing_.push_back(w);
    }
    i_->then = Instance::Then::kEnds;
  }
  void fail() {
    for (const uint32_t w : preparing_) {
      machine_.set_load(w, 0);
      sleepers_->wake(w);
    }
    preparing_.clear();
  }
  void check_none_left() {
    if (i_->ops().flush && tasks_.count_in()) i_->ops().flush(i_->raw()), i_->pop_all();
    else if (i_->ops().next_event && i_->ops().next_event(i_->raw()) != CONSORT_NEVER) i_->pop_all();
    const size_t left = tasks_.count_in();
    t_.check(left == 0, "%zu tasks wait while all workers sleep and have no load, after %zu that failed before they started", left,
             nfailed_);
  }

  Trial &t_;
  Plugin plugin_;
  Machine machine_;
  Tasks tasks_;
  std::unique_ptr<Instance> i_;
  std::unique_ptr<Sleepers> sleepers_;
  std::vector<uint32_t> preparing_;
  size_t pushed_ = 0, nfailed_ = 0;
};

}  // namespace

CONFORM_CASE(S, 23, behaviour, goes_on_after_tasks_that_never_start) { Failing(t, {0}).run(1); }
CONFORM_CASE(S, 23, behaviour, goes_on_after_tasks_that_never_start_of_four) { Failing(t, workers_of({4})).run(3); }
CONFORM_CASE(S, 23, behaviour, goes_on_after_tasks_that_never_start_of_a_fast_and_a_slow) { Failing(t, {0, 1}).run(1); }
CONFORM_CASE(S, 23, behaviour, goes_on_after_tasks_that_never_start_of_two_classes) { Failing(t, workers_of({3, 2})).run(3); }
CONFORM_CASE(S, 23, behaviour, goes_on_after_tasks_that_never_start_of_one_fast) { Failing(t, workers_of({4, 1})).run(1); }

}  // namespace conform
