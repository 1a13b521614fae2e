// decide.cpp — Instance, the part that says what a worker is to take. All of it under the lock.
#include "instance.hpp"

namespace lookahead {

Instance::Found Instance::choose(const Crew &crew, uint32_t worker, double now) noexcept {
  const uint32_t g = crew.group_of[worker];
  const bool idle = !nout_[worker];
  if (idle && finds_nothing(g, now)) return {};
  if (const Found f = unknown(g); f.node) return f;
  if (const Found f = most_urgent(crew, worker, now, settings_.near, settings_.look, settings_.beta); f.node || !idle)
    return f;
  const Found f = costs_nothing(crew, g, now, settings_.slack);
  if (!f.node && !waits_at_home(g)) found_nothing(g, now);
  return f;
}

// Is there anything for an idle one of this group?
bool Instance::would_take(const Crew &crew, uint32_t g, double now) noexcept {
  return waits_at_home(g) || unknown(g).node || costs_nothing(crew, g, now, settings_.slack).node;
}

}  // namespace lookahead
