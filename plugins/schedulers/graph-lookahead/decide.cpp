// decide.cpp — Instance: the choice of a task for a worker. Functions run under the lock.
#include "instance.hpp"

namespace lookahead {

Instance::Found Instance::choose(const WorkerGroups &served, uint32_t worker, double now) noexcept {
  const uint32_t g = served.group_of[worker];
  const bool idle = is_idle(worker);
  if (idle && finds_nothing(g, now)) return {};
  if (const Found f = unknown(g, now); f.node) return f;
  if (const Found f = most_urgent(served, worker, now, settings_.near, settings_.look, settings_.beta); f.node || !idle)
    return f;
  if (const Found f = task_at_home(g); f.node) return f;
  const Found f = slack_task(served, g, now, settings_.slack);
  if (!f.node && !has_fast_task(g)) found_nothing(g, now);
  return f;
}

// Whether an idle worker of this group would take a task.
bool Instance::would_take(const WorkerGroups &served, uint32_t g, double now) noexcept {
  return has_fast_task(g) || unknown(g, now).node || task_at_home(g).node || slack_task(served, g, now, settings_.slack).node;
}

}  // namespace lookahead
