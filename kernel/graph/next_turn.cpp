#include "graph/next_turn.hpp"

#include "graph/failed_task.hpp"
#include "graph/link_steps.hpp"
#include "graph/task_options.hpp"
#include "task/callback.hpp"

namespace consort {

void next_turn(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status) noexcept {
  RepeatState &turns = *t->extra->more->turns;
  if (rt.repeats.again(turns, status >= 0)) {
    const consort_task_id after{t->pub.id};
    turns.desc.after = &after;
    turns.desc.nafter = 1;
    consort_status s;
    {
      // this thread may be inside another wait, so it must not wait for the window here
      const Callback scope(thread, t);
      s = submit_any(rt, turns.desc, nullptr, &turns);
    }
    if (s >= 0) {
      t->extra->more->turns = nullptr;  // it belongs to the next turn
      return;
    }
    fail_group(rt, t, s, "its next turn could not be submitted");
  }
  const consort_task_more &m = turns.more;
  in_callback(thread, t, [&] { if (m.done_drop) m.done_drop(turns.desc.done_arg); });
  for (const consort_hook &hook : {m.ready, m.begin})
    in_callback(thread, t, [&] { if (hook.drop) hook.drop(hook.arg); });
}

}  // namespace consort
