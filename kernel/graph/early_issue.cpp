// early_issue.cpp — may a task be issued behind its predecessors, before they are complete? link_steps.hpp says when.
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
  // What may have to go to another unit yet, since it does not load, waits until its predecessors are complete.
  const Codelet::Entry &entry = s.codelet->entry[unit.klass];
  if (entry.fn == Portable::stand_in && !static_cast<const Portable *>(entry.user)->is_loaded(*unit.device))
    return false;
  return (s.pub.where >> unit.klass & 1) && (!(s.bits & kBound) || s.extra->worker == worker);
}

}  // namespace consort
