// early_issue.cpp — whether a task may be issued behind unfinished predecessors; see link_steps.hpp.
#include <bit>

#include "graph/link_steps.hpp"
#include "task/portable.hpp"

namespace consort {

bool may_follow(const TaskGraph &rt, const Task &s, uint64_t place) noexcept {
  if (s.bits & (kSpecial | kWatched | kAfter | kTokens | kScratch | kUnite | kMore)) return false;
  const uint32_t worker = rt.queues[place::queue(place)]->worker_id();
  const Unit &unit = rt.topology->units()[worker];
  const bool no_choice = std::has_single_bit(s.pub.where) && (s.pub.where & rt.topology->lone_classes());
  if (!rt.policy.may_follow(worker, s, no_choice)) return false;
  // A task that may move to another unit, because its text might not load, waits until its predecessors are complete.
  const Codelet::Entry &entry = s.codelet->entry[unit.klass];
  if (entry.fn == Portable::stand_in && !static_cast<const Portable *>(entry.user)->is_loaded(*unit.device))
    return false;
  return (s.pub.where >> unit.klass & 1) && (!(s.bits & kBound) || s.extra->worker == worker);
}

}  // namespace consort
