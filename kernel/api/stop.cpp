// stop.cpp — what a stop waits for: all tasks, calls of other threads, and copies of data to their homes.
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

constexpr int64_t kStopLook = 25'000'000;  // ns between two checks of a stop
constexpr uint32_t kStopLong = 40;         // checks after which the log says what the stop waits for
constexpr uint32_t kStopCalm = 8;          // checks without any change, before tags are given up

// Logs what only the application can release, so that the stop does not look like a hang.
void log_held_data(Runtime &rt) noexcept try {
  if (const std::string held = describe_held(rt); !held.empty()) rt.log(1, "consort_stop() waits:" + held);
} catch (const std::bad_alloc &) {
}

// A thread that waited until now held a worker's token, and that worker needs a moment to rest again.
bool wait_for_rest(Runtime &rt, ThreadState &thread) {
  for (int64_t nap = 20'000; nap < kStopLook; nap *= 2) {
    if (come_to_rest(rt, thread)) return true;
    if (!rt.manual) thread.parker.wait(nap);
  }
  return false;
}

// Returns whether the datum has a home in the application's memory and contents elsewhere: on a device or in parts.
bool needs_way_home(const Datum &d) noexcept {
  const uint32_t state = d.state.load(std::memory_order_relaxed);
  if (state & data_state::kHidden || !d.home.load(std::memory_order_relaxed)) return false;
  const AccessOrder *its = discipline_if_any(d);
  return data_state::space(state) == data_state::kMany || (its && its->plans);
}

// Submits the unregistration of each such datum. Precondition: no other thread submits. *any: some were submitted.
// Returns the status of the first refusal, error text set.
consort_status bring_data_home(Runtime &rt, ThreadState &thread, bool *any) noexcept try {
  if (!rt.memory.in_use()) return CONSORT_OK;  // parts are in place, too
  // Collected before the first submission: the end of each frees its parts and formats on the thread that ends it.
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

// Waits until nothing is pending.
void drain(Runtime &rt, ThreadState &thread) {
  uint32_t calm = 0;
  for (uint32_t looks = 1;; ++looks) {
    rt.policy.contexts().destroy_all(thread);  // tasks that wait there for a worker can then use all workers
    const WaitCondition goal{rt};
    // a manual pump's clock advances by steps
    if (wait_for(rt, goal, rt.manual ? kStopLook / 64 : kStopLook, 0) >= 0) return;
    rt.repeats.stop_all();  // bodies may still submit
    if (looks == kStopLong) log_held_data(rt);
    // The rest waits for the application, or for a tag that no thread is left to reach.
    const bool stuck = rt.tags.any_gate() && !rt.ends.held() && !anything_held(rt) && wait_for_rest(rt, thread);
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
  if (home < 0) home = bring_all_home(rt, thread);  // ended tasks have freed memory
  const LastError why;
  while (rt.memory.busy())  // saves: no task waits for them
    if (!rt.manual || !pump_all(rt, thread, CONSORT_NEVER)) thread.parker.wait(50'000);
  const consort_status untold = answer_unreported(rt);
  return untold < 0 || home >= 0 ? untold : set_errorf(home, "some data were not brought home: %s", why.text());
}

}  // namespace consort
