// sleepers.hpp — the kernel's part in waking: which workers sleep, and which of a wake set are woken. All of the set if
// the tasks of a push are unlike.
#pragma once
#include <algorithm>
#include <vector>

#include "conform/scheduler/instance.hpp"

namespace conform {

class Sleepers {
 public:
  Sleepers(Trial &t, Instance &i) : t_(t), i_(i), awake_(i.machine().nworkers(), 0) {}

  void push(uint32_t from, const std::vector<consort_task *> &tasks) {
    Woken woken;
    t_.check(i_.push(from, tasks, &woken), "push refuses tasks of its own epoch");
    if (from != CONSORT_NONE) awake_[from] = 1;  // it has just ended a task
    const bool unlike = std::any_of(tasks.begin(), tasks.end(), [&](auto *task) { return task->where != tasks[0]->where; });
    std::vector<uint32_t> candidates;
    for (uint32_t w = 0; w < awake_.size(); ++w)
      if (woken.has(w) && !awake_[w]) candidates.push_back(w);
    for (size_t left = unlike ? candidates.size() : std::min<size_t>(woken.k, candidates.size()); left > 0; --left) {
      const size_t pick = t_.random().below(candidates.size());
      awake_[candidates[pick]] = 1;
      candidates.erase(candidates.begin() + static_cast<long>(pick));
    }
  }
  bool is_awake(uint32_t worker) const { return awake_[worker]; }
  void wake(uint32_t worker) { awake_[worker] = 1; }
  // Every awake worker pops until there is nothing for it, and sleeps.
  void work() {
    for (bool any = true; any;) {
      any = false;
      for (uint32_t w = 0; w < awake_.size(); ++w) {
        if (!awake_[w]) continue;
        any = true;
        if (!i_.pop(w) && !i_.pop(w)) awake_[w] = 0;
      }
    }
  }

 private:
  Trial &t_;
  Instance &i_;
  std::vector<char> awake_;
};

}  // namespace conform
