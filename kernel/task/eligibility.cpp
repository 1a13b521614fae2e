#include "task/eligibility.hpp"

namespace consort {
namespace {

// The answers of can_execute.
uint64_t able_alone(Core &rt, const Codelet &c, uint32_t klass, uint32_t worker, TaskName task) noexcept {
  uint64_t mask = 0;
  for (size_t i = 0; i < c.impls.size(); ++i)
    if (c.impls[i].klass == klass) mask |= uint64_t{1} << i;
  if (!c.can_execute || !mask) return mask;
  ThreadState *const thread = rt.this_thread_if_any();
  const bool outer = thread && thread->in_callback, asking = thread && thread->asking;
  if (thread) thread->in_callback = thread->asking = true;
  for (uint64_t left = mask; left; left &= left - 1) {
    const auto impl = static_cast<uint32_t>(__builtin_ctzll(left));
    bool can = false;
    try {
      can = c.can_execute(c.can_execute_user, worker, impl, {task});
    } catch (...) {
      // an exception counts as no
    }
    if (!can) mask &= ~(uint64_t{1} << impl);
  }
  if (thread) thread->in_callback = outer, thread->asking = asking;
  return mask;
}

}  // namespace

uint64_t able_team(Core &rt, const Codelet &c, const Team &team, TaskName task) noexcept {
  uint64_t mask = ~uint64_t{0};
  for (size_t i = 0; i < team.members.size() && mask; ++i)
    mask &= !i || c.can_execute ? able_alone(rt, c, team.klass, team.members[i], task) : mask;
  return mask;
}

uint64_t able(Core &rt, const Codelet &c, uint32_t klass, uint32_t worker, TaskName task) noexcept {
  if (rt.lost.any() && rt.lost.has(rt.topology->units()[worker])) [[unlikely]] return 0;
  const uint32_t only = rt.only_worker;
  return c.for_teams() && only != CONSORT_NONE && only != worker && (rt.inline_classes >> klass & 1)
             ? 0
             : able_alone(rt, c, klass, worker, task);
}

uint64_t without_refused(const Core &rt, const Codelet &c, uint32_t worker, uint64_t mask) noexcept {
  for (uint64_t left = mask; left; left &= left - 1) {
    const auto impl = static_cast<uint32_t>(__builtin_ctzll(left));
    const Portable *text = c.impls[impl].text();
    if (text && text->was_refused(*rt.topology->units()[worker].device)) mask &= ~(uint64_t{1} << impl);
  }
  return mask;
}

}  // namespace consort
