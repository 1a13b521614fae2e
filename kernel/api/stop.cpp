// stop.cpp — what a stop waits for: all tasks, the calls of other threads, data on their way home.
#include <new>
#include <string>
#include <vector>

#include "api/runtime.hpp"
#include "api/stop_gate.hpp"
#include "base/last_error.hpp"
#include "exec/quiescence.hpp"
#include "exec/wait_condition.hpp"
#include "graph/access_order.hpp"
#include "graph/complete.hpp"
#include "graph/formats.hpp"
#include "graph/submit.hpp"
#include "observe/explain.hpp"
#include "sched/context.hpp"
#include "task/callback.hpp"

namespace consort {
namespace {

constexpr int64_t kStopLook = 25'000'000;  // ns between two looks of a stop at what it waits for
constexpr uint32_t kStopLong = 40;         // looks after which it is said what the stop waits for
constexpr uint32_t kStopCalm = 8;          // looks at which nothing happened any more, before tags are given up

// A stop that nobody can end but the application should not look like a hang.
void say_what_is_held(Runtime &rt) noexcept try {
  if (const std::string held = describe_held(rt); !held.empty()) rt.log(1, "consort_stop() waits:" + held);
} catch (const std::bad_alloc &) {
}

// Whoever waited just now had a worker's turn, and that worker needs a moment to lie down again.
bool soon_at_rest(Runtime &rt, ThreadState &thread) {
  for (int64_t nap = 20'000; nap < kStopLook; nap *= 2) {
    if (come_to_rest(rt, thread)) return true;
    if (!rt.manual) thread.parker.wait(nap);
  }
  return false;
}

// A datum with a home in the application's memory whose contents may lie elsewhere: in a device's memory or in parts.
bool needs_way_home(const Datum &d) noexcept {
  const uint32_t state = d.state.load(std::memory_order_relaxed);
  if (state & data_state::kHidden || !d.home.load(std::memory_order_relaxed)) return false;
  const AccessOrder *its = discipline_if_any(d);
  return data_state::space(state) == data_state::kMany || (its && its->plans);
}

// A datum in the application's memory with contents elsewhere ends here as if it had been unregistered. No thread submits
// any more. *any: some were submitted. The answer: why one could not be, told in the error slot.
consort_status bring_data_home(Runtime &rt, ThreadState &thread, bool *any) noexcept try {
  if (!rt.memory.in_use()) return CONSORT_OK;  // parts are in place, too
  // Listed before the first one is submitted: the end of each frees its parts and formats on the thread that ends it.
  std::vector<uint64_t> away;
  rt.data.each([&](Datum &d) {
    if (needs_way_home(d)) away.push_back(d.pub.id);
  });
  consort_status answer = CONSORT_OK;
  for (const uint64_t id : away) {
    const consort_status s = submit_special(rt, thread, {id}, CONSORT_M_W, TaskKind::kRetire);
    if (s >= 0) *any = true;
    else answer = s;
  }
  return answer;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the list of data that lie elsewhere");
}

// Until nothing is pending.
void drain(Runtime &rt, ThreadState &thread) {
  uint32_t calm = 0;
  for (uint32_t looks = 1;; ++looks) {
    rt.policy.contexts().destroy_all(thread);  // what waits there for a worker has all of them then
    const WaitCondition goal{rt};
    if (wait_for(rt, goal, rt.manual ? kStopLook / 64 : kStopLook, 0) >= 0) return;  // that clock moves by steps
    rt.repeats.stop_all();  // bodies may still submit
    if (looks == kStopLong) say_what_is_held(rt);
    // What is left waits for the application, or for a tag that nobody is left to reach.
    const bool stuck = rt.tags.any_gate() && !rt.ends.held() && !anything_held(rt) && soon_at_rest(rt, thread);
    calm = stuck ? calm + 1 : 0;
    if (calm < kStopCalm) continue;
    while (Task *gate = rt.tags.give_up_one()) Callback::end(thread, gate);
    settle_down(rt, thread);
  }
}

consort_status bring_all_home(Runtime &rt, ThreadState &thread) noexcept {
  bool any = false;
  const consort_status formats = bring_formats_home(rt, thread, &any);
  const LastError why;
  if (any) (void)wait_for(rt, WaitCondition{rt}, CONSORT_FOREVER, 0);
  any = false;
  const consort_status data = bring_data_home(rt, thread, &any);
  const LastError why_too;
  if (any) (void)wait_for(rt, WaitCondition{rt}, CONSORT_FOREVER, 0);
  return data < 0 ? why_too.restore(data) : formats < 0 ? why.restore(formats) : CONSORT_OK;
}

}  // namespace

consort_status wait_to_stop(Runtime &rt, ThreadState &thread, StopGate &door) {
  rt.repeats.stop_all();
  do drain(rt, thread);
  while (!door.close(rt, thread));
  consort_status home = bring_all_home(rt, thread);
  if (home < 0) home = bring_all_home(rt, thread);  // what has ended has given memory back
  const LastError why;
  while (rt.memory.busy())  // copies that only make room: no task waits for them
    if (!rt.manual || !pump_all(rt, thread, CONSORT_NEVER)) thread.parker.wait(50'000);
  const consort_status untold = answer_untold(rt);
  return untold < 0 || home >= 0 ? untold : set_errorf(home, "some data were not brought home: %s", why.text());
}

}  // namespace consort
