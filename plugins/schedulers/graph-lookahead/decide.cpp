// decide.cpp — Instance, the part that says what a worker is to take. All of it under the lock.
#include "instance.hpp"

namespace lookahead {

Instance::Found Instance::choose(const Crew &crew, uint32_t worker, double now) noexcept {
  const uint32_t g = crew.group_of[worker];
  if (const Found f = unknown(g); f.node) return f;
  if (const Found f = most_urgent(crew, worker, now, settings_.near, settings_.look, settings_.beta); f.node)
    return f;
  return nout_[worker] ? Found{} : costs_nothing(crew, g, now, settings_.slack);
}

// Is there anything for an idle one of this group?
bool Instance::would_take(const Crew &crew, uint32_t g, double now) noexcept {
  for (Kind &k : kinds_.all())
    if (k.nready && k.can(g) && k.at_home(g)) return true;
  return unknown(g).node || costs_nothing(crew, g, now, settings_.slack).node;
}

}  // namespace lookahead
