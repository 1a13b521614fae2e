#include "sched/kept_tasks.hpp"

#include <utility>

#include "sched/scheduling.hpp"

namespace consort {

void push_kept(Scheduling &rt, Worker &w) noexcept {
  const uint32_t n = w.nkept;
  w.nkept = w.kept_age = 0;
  if (n) rt.policy.push(rt, w.id, w.kept, n, CONSORT_PUSH_NEW);
}

void end_lease(Scheduling &rt, ThreadState &thread) noexcept {
  Worker *const w = std::exchange(thread.lease, nullptr);
  if (!w || !w->lease_to_held(thread)) return;
  push_kept(rt, *w);
  w->give_up();
}

}  // namespace consort
