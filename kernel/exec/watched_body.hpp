// watched_body.hpp — bodies that a watch runs (consort/bodies.h).
#pragma once
#include <consort/bodies.h>

#include "graph/task_graph.hpp"
#include "task/guarded_call.hpp"
#include "task/run_observer.hpp"
#include "task/worker.hpp"

namespace consort {

// Called on the worker's thread, or on that of its driver. shared: each member of a team runs it.
consort_status watched_body(TaskGraph &, const consort_body_watch &, const Worker &, const Task &, consort_call_fn *,
                            consort_call *, bool shared) noexcept;

// Calls to() with the task's description. run() is NULL. False: out of memory.
bool describe_body(TaskGraph &, const Worker &, const Task &, const consort_call &,
                   void (*to)(void *user, const consort_body *), void *user) noexcept;

// Calls a function of a codelet, by the watch if there is one.
inline consort_status run_body(TaskGraph &rt, const Worker &w, const Task &t, consort_call_fn *fn, consort_call *call,
                               bool shared = false) noexcept {
  if (const consort_body_watch *watch = bodies_of(rt.run_observer)) [[unlikely]]
    return watched_body(rt, *watch, w, t, fn, call, shared);
  return guarded_call(fn, call);
}

}  // namespace consort
