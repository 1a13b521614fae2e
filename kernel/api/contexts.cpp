// contexts.cpp — consort/contexts.h: sets of workers with a scheduler of their own.
#include <consort/contexts.h>

#include "api/entry.hpp"
#include "exec/wait.hpp"
#include "sched/context.hpp"

using namespace consort;

namespace {

// A change by this thread: f(contexts, thread) returns a Result<void>.
template <class F>
consort_status change(consort_runtime *shell, F f, ApiCall::Kind kind = ApiCall::kBegins) noexcept {
  const ApiCall rt(shell, kind);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    auto done = f(rt->policy.contexts(), *thread);
    return done ? CONSORT_OK : set_error(done.error());
  });
}

// Copies as much of a list as the caller has space for.
template <class T, class U>
consort_status give(const std::vector<U> &all, T *out, uint32_t max, uint32_t *n) noexcept {
  if (!n) return set_error(CONSORT_E_INVAL, "n is NULL: give a place for the count");
  if (max && !out) return set_error(CONSORT_E_INVAL, "max is not 0, but there is no place for the list (NULL)");
  *n = static_cast<uint32_t>(all.size());
  for (uint32_t i = 0; i < max && i < *n; ++i) out[i] = {all[i]};
  return CONSORT_OK;
}

}  // namespace

extern "C" {

consort_status consort_context_create(consort_runtime *shell, const consort_context_desc *desc,
                                      consort_context_id *out) {
  if (!desc || !out) return set_errorf(CONSORT_E_INVAL, "%s is NULL", desc ? "out" : "the context's description");
  if (desc->size < sizeof *desc)
    return set_errorf(CONSORT_E_INVAL, "desc->size is %u: set it to sizeof(consort_context_desc)", desc->size);
  if (desc->flags) return refuse_bits("desc->flags", desc->flags, "there are none yet");
  if (desc->reserved) return refuse_bits("desc->reserved", desc->reserved, "it must be 0");
  return change(shell, [&](Contexts &all, ThreadState &thread) {
    auto made = all.create(thread, {desc->name, desc->scheduler, desc->workers, desc->nworkers, desc->parent.v});
    if (made) out->v = *made;
    return made;
  });
}

consort_status consort_context_destroy(consort_runtime *shell, consort_context_id context) {
  return change(
      shell, [&](Contexts &all, ThreadState &thread) { return all.destroy(thread, context.v); }, ApiCall::kEnds);
}

consort_status consort_context_add(consort_runtime *shell, consort_context_id context, const uint32_t *workers,
                                   uint32_t n) {
  return change(shell, [&](Contexts &all, ThreadState &thread) {
    return all.move(thread, context.v, Contexts::Way::kFromParent, workers, n);
  });
}

consort_status consort_context_remove(consort_runtime *shell, consort_context_id context, const uint32_t *workers,
                                      uint32_t n) {
  return change(shell, [&](Contexts &all, ThreadState &thread) {
    return all.move(thread, context.v, Contexts::Way::kToParent, workers, n);
  });
}

consort_status consort_context_move(consort_runtime *shell, consort_context_id from, consort_context_id to,
                                    const uint32_t *workers, uint32_t n) {
  return change(shell, [&](Contexts &all, ThreadState &thread) { return all.move(thread, from.v, to.v, workers, n); });
}

consort_status consort_context_set_scheduler(consort_runtime *shell, consort_context_id context, const char *name) {
  if (!name || !*name) return set_error(CONSORT_E_INVAL, "no scheduler is named: consort plugins lists what there is");
  return change(shell, [&](Contexts &all, ThreadState &thread) { return all.set_scheduler(thread, context.v, name); });
}

consort_status consort_context_enter(consort_runtime *shell, consort_context_id context) {
  return change(shell, [&](Contexts &all, ThreadState &thread) -> Result<void> {
    if (auto found = all.find(context.v); !found) return found.error();
    (void)all.router().current(thread);  // drops contexts that were not left
    thread.entered.push_back({thread.task ? thread.task->pub.id : 0, thread.in_callback, context.v});
    return {};
  });
}

consort_status consort_context_leave(consort_runtime *shell) {
  return change(shell, [&](Contexts &all, ThreadState &thread) -> Result<void> {
    if (!all.router().innermost(thread))
      return error(CONSORT_E_INVAL, "there is no context to leave: this thread, or the body or callback that it is in, "
                                    "has entered none (consort_context_enter())");
    thread.entered.pop_back();
    return {};
  }, ApiCall::kEnds);
}

consort_status consort_context_current(consort_runtime *shell, consort_context_id *out) {
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  return change(shell, [&](Contexts &all, ThreadState &thread) -> Result<void> {
    out->v = all.router().current(thread);
    return {};
  }, ApiCall::kEnds);
}

consort_status consort_context_wait(consort_runtime *shell, consort_context_id context, int64_t timeout_ns,
                                    uint32_t flags) {
  const ApiCall rt(shell, ApiCall::waits(timeout_ns));
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = check_wait_flags(flags); s < 0) return s;
  if (!context.v)
    return set_error(CONSORT_E_INVAL,
                     "the null handle is the runtime's own context: consort_wait_all() waits for all tasks");
  return guarded([&] { return wait_context(*rt, context.v, timeout_ns, flags); });
}

consort_status consort_get_context(consort_runtime *shell, consort_context_id context, consort_context_info *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_context_info)");
  return guarded([&]() -> consort_status {
    auto i = rt->policy.contexts().info(context.v);
    if (!i) return set_error(i.error());
    *out = {out->size, i->nworkers, i->name, i->scheduler, {i->parent}, i->unfinished};
    return CONSORT_OK;
  });
}

consort_status consort_context_workers(consort_runtime *shell, consort_context_id context, uint32_t *workers,
                                       uint32_t max, uint32_t *n) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  return guarded([&]() -> consort_status {
    auto all = rt->policy.contexts().workers(context.v);
    return all ? give(*all, workers, max, n) : set_error(all.error());
  });
}

consort_status consort_context_of_worker(consort_runtime *shell, uint32_t worker, consort_context_id *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  if (worker >= rt->workers.size())
    return set_errorf(CONSORT_E_INVAL, "worker %u does not exist: there are %zu, numbered from 0", worker,
                      rt->workers.size());
  out->v = rt->policy.contexts().of_worker(worker);
  return CONSORT_OK;
}

consort_status consort_context_list(consort_runtime *shell, consort_context_id *contexts, uint32_t max, uint32_t *n) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  return guarded([&] { return give(rt->policy.contexts().list(), contexts, max, n); });
}

}  // extern "C"
