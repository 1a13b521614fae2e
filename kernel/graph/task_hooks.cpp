#include "graph/task_hooks.hpp"

#include <utility>

#include "graph/next_turn.hpp"
#include "graph/task_graph.hpp"
#include "graph/task_options.hpp"
#include "task/callback.hpp"

namespace consort {

// Cleared first, so that it is called and dropped once, whatever happens meanwhile.
static void call(ThreadState &thread, Task *t, consort_hook &place) noexcept {
  const consort_hook hook = std::exchange(place, consort_hook{});
  if (hook.fn) in_callback(thread, t, [&] { hook.fn(hook.arg, {t->pub.id}); });
  if (hook.drop) in_callback(thread, t, [&] { hook.drop(hook.arg); });
}

void call_ready(ThreadState &thread, Task *t) noexcept { call(thread, t, t->extra->more->ready); }

void call_begin(ThreadState &thread, Worker &w, Task *t) noexcept {
  TaskOptions &m = *t->extra->more;
  uint32_t none = CONSORT_NONE;
  if (m.bundle) m.bundle->worker.compare_exchange_strong(none, w.id, std::memory_order_relaxed);
  call(thread, t, m.begin);
}

Worker *bundle_worker(TaskGraph &rt, const ThreadState &thread, const Task *t) noexcept {
  const Bundle *b = t->extra->more->bundle;
  const uint32_t id = b ? b->worker.load(std::memory_order_relaxed) : CONSORT_NONE;
  if (id == CONSORT_NONE || (thread.seat && thread.seat->id == id)) return nullptr;
  Worker *w = rt.workers[id];
  return t->pub.where >> w->klass & 1 ? w : nullptr;
}

void end_more(TaskGraph &rt, ThreadState &thread, Task *t, consort_status status) noexcept {
  TaskOptions &m = *t->extra->more;
  if (m.done_drop) in_callback(thread, t, [&] { m.done_drop(t->extra->done_arg); });
  for (const consort_hook &hook : {m.ready, m.begin})
    if (hook.drop) in_callback(thread, t, [&] { hook.drop(hook.arg); });
  if (m.tagged) m.gate = rt.tags.reached_by(m.tag, t->pub.id, status < 0);
  if (m.turns) next_turn(rt, thread, t, status);
  if (m.bundle) rt.bundles.leave(*m.bundle);
}

}  // namespace consort
