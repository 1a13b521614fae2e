// lifecycle.cpp — consort.h: start, stop, codelets, groups, queries.
#include <algorithm>
#include <cstring>

#include "api/entry.hpp"
#include "api/stop_gate.hpp"
#include "base/status_name.hpp"
#include "exec/own_holds.hpp"
#include "exec/wait.hpp"
#include "graph/complete.hpp"
#include "observe/explain.hpp"
#include "sched/context.hpp"

using namespace consort;

namespace consort {

namespace {

consort_status stop(Runtime &rt, ThreadState &thread, StopGate door) noexcept {
  consort_status s;
  try {
    s = wait_to_stop(rt, thread, door);
  } catch (const std::bad_alloc &) {
    door.give_up();
    return set_error(CONSORT_E_NOMEM, "no memory to stop the runtime, which goes on");
  }
  const LastError why;
  door.lock();
  delete &rt;
  door.end();
  return s < 0 ? why.restore(s) : s;
}

// Returns whether no unfinished task and no reduction uses this codelet.
bool unused(Runtime &rt, const Codelet &c) noexcept {
  if (c.unions.load(std::memory_order_acquire)) return false;
  for (uint32_t i = 1; i < rt.tasks.carved(); ++i)  // acquire pairs with the release where a task's end clears it
    if (std::atomic_ref<Codelet *>(rt.tasks.at(i)->codelet).load(std::memory_order_acquire) == &c) return false;
  return true;
}

}  // namespace

consort_status refuse_inside(Runtime &rt, const char *what) noexcept {
  ThreadState *thread = rt.this_thread_if_any();
  if (thread) mend_if_left(rt, *thread, __builtin_frame_address(0));
  if (on_a_device || (thread && (thread->task || thread->in_callback)))
    return set_errorf(CONSORT_E_BUSY, "%s from inside a task or a callback would wait for itself", what);
  return CONSORT_OK;
}

}  // namespace consort

extern "C" {

consort_status consort_start(const consort_settings *settings, consort_runtime **out) {
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL: give a place for the runtime");
  *out = nullptr;
  if (settings && settings->size < offsetof(consort_settings, modules))
    return set_errorf(CONSORT_E_INVAL, "settings->size is %u: set it to sizeof(consort_settings)", settings->size);
  return guarded([&]() -> consort_status {
    consort_settings known = CONSORT_SETTINGS_INIT;  // a host built with an older header has fewer fields
    if (settings) std::memcpy(&known, settings, std::min<size_t>(settings->size, sizeof known));
    auto rt = Runtime::start(settings ? &known : nullptr);
    if (!rt) return set_error(rt.error());
    *out = process::open_shell(rt->get());
    if (!*out) return set_error(CONSORT_E_NOMEM, "4096 runtimes are alive in this process: stop some");
    rt->release();
    clear_error();
    return CONSORT_OK;
  });
}

consort_status consort_stop(consort_runtime *shell) {
  if (!shell) return CONSORT_OK;
  const uint64_t stops = shell->stops.load(std::memory_order_acquire);
  {
    const ApiCall rt(shell, ApiCall::kWaits);
    if (!rt) return refuse_shell(shell);
    if (const consort_status s = refuse_inside(*rt, "consort_stop()"); s < 0) return s;
    if (rt.is_nested())
      return set_error(CONSORT_E_BUSY, "consort_stop() from inside another call of this runtime would wait for itself");
    ThreadState *thread = rt->this_thread();
    if (!thread) return CONSORT_E_NOMEM;
    if (thread->nholds.load(std::memory_order_relaxed))
      return set_error(CONSORT_E_BUSY, "this thread holds acquired data: release them before the stop");
    if (process::begin_stop(shell)) return stop(*rt, *thread, StopGate(shell, rt.record()));
  }
  wait_for_end(shell, stops);  // another thread stops it and waits for the calls under way
  return refuse_shell(shell);
}

consort_status consort_runtime_set_scheduler(consort_runtime *shell, const char *name) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!name || !*name) return set_error(CONSORT_E_INVAL, "no scheduler is named: consort plugins lists what there is");
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    auto r = rt->policies.swap(*rt, *thread, name);
    return r ? CONSORT_OK : set_error(r.error());
  });
}

const char *consort_error(void) { return error_text(); }
const char *consort_version(void) { return CONSORT_VERSION; }

const char *consort_status_name(consort_status s) { return status_name(s); }

consort_status consort_fail(consort_status code, const char *utf8) { return set_error(code, utf8 ? utf8 : ""); }

consort_status consort_codelet_add(consort_runtime *shell, const consort_codelet *desc, consort_codelet_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!desc || !out) return set_errorf(CONSORT_E_INVAL, "%s is NULL", desc ? "out" : "the codelet's description");
  return guarded([&]() -> consort_status {
    auto c = rt->codelets.add(*desc, *rt->topology);
    if (!c) return set_error(c.error());
    *out = Codelets::id(**c);
    const uint64_t before = rt->codelets.classes();
    rt->codelets.count(**c, 1);
    if (before && rt->codelets.classes() != before) rt->policies.review_now(*rt);
    return CONSORT_OK;
  });
}

consort_status consort_codelet_remove(consort_runtime *shell, consort_codelet_id id) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  Codelet *c = rt->codelets.find(id);
  if (!c)
    return rt->codelets.ever_gave(id)
               ? set_error(CONSORT_E_STALE, "the codelet was removed before")
               : set_error(CONSORT_E_INVAL, "no codelet of this runtime: consort_codelet_add() gives one");
  if (const consort_status s = refuse_inside(*rt, "consort_codelet_remove()"); s < 0) return s;
  // Its contributions may be read by this very thread, or never, so a wait might not end.
  const auto refuse_pending = [&] {
    return set_errorf(CONSORT_E_BUSY,
                      "codelet '%s' is still needed by the reduction of data whose contributions "
                      "were not read: acquire, invalidate or unregister them first",
                      c->name.c_str());
  };
  if (c->phases.load(std::memory_order_relaxed)) return refuse_pending();
  if (!c->live.exchange(false, std::memory_order_acq_rel))
    return set_error(CONSORT_E_STALE, "the codelet was removed before");
  ThreadState *thread = rt->this_thread();
  if (!thread) {
    c->live.store(true, std::memory_order_release);
    return CONSORT_E_NOMEM;
  }
  fence::heavy();  // pairs with light() in submit(): a record that shows the codelet is seen from here on
  if (c->phases.load(std::memory_order_relaxed)) {  // also a reduction that found it alive: open_phase()
    c->live.store(true, std::memory_order_release);
    return refuse_pending();
  }
  OwnHolds own_holds;
  const auto shows_it = [c](const Task &t) {
    return std::atomic_ref<Codelet *>(const_cast<Task &>(t).codelet).load(std::memory_order_relaxed) == c;
  };
  for (rt->recordings.forget(*c); !unused(*rt, *c); rt->recordings.forget(*c)) {
    settle_down(*rt, *thread);
    if (rt->manual && pump_all(*rt, *thread, CONSORT_NEVER)) continue;
    thread->parker.wait(200'000);
    if (thread->nholds.load(std::memory_order_relaxed))
      own_holds.look(*rt, *thread, "consort_codelet_remove()", shows_it);
  }
  rt->codelets.count(*c, -1);
  rt->codelets.remove(*c);
  return CONSORT_OK;
}

// -- groups -----------------------------------------------------------------------------------------------------

consort_status consort_group_create(consort_runtime *shell, const consort_group_desc *desc, consort_group_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  if (desc && desc->size < sizeof *desc)
    return set_errorf(CONSORT_E_INVAL, "desc->size is %u: set it to sizeof(consort_group_desc)", desc->size);
  if (desc && desc->flags) return refuse_bits("desc->flags", desc->flags, "there are none yet");
  return guarded([&]() -> consort_status {
    auto g = rt->groups.create(desc);
    if (!g) return set_error(g.error());
    *out = (*g)->id();
    return CONSORT_OK;
  });
}

static consort_status with_group(consort_runtime *shell, consort_group_id id,
                                 consort_status (*f)(Runtime &, Group &, void *), void *arg,
                                 ApiCall::Kind kind = ApiCall::kEnds) {
  const ApiCall rt(shell, kind);
  if (!rt) return refuse_shell(shell);
  Group *g = rt->groups.find(id);
  if (!g) return set_error(CONSORT_E_STALE, "the group was destroyed, or is none of this runtime: its handle is stale");
  return guarded([&] { return f(*rt, *g, arg); });
}

consort_status consort_group_wait(consort_runtime *shell, consort_group_id id, int64_t timeout_ns, uint32_t flags) {
  if (const consort_status s = check_wait_flags(flags); s < 0) return s;
  struct { consort_group_id id; int64_t timeout; uint32_t flags; } a{id, timeout_ns, flags};
  return with_group(shell, id, [](Runtime &rt, Group &g, void *p) {
    const auto &args = *static_cast<decltype(a) *>(p);
    const uint32_t generation = args.id.v ? static_cast<uint32_t>(args.id.v >> 32) : g.generation.load(std::memory_order_relaxed);
    return wait_group(rt, g, generation, args.timeout, args.flags);
  }, &a, ApiCall::waits(timeout_ns));
}

consort_status consort_group_cancel(consort_runtime *shell, consort_group_id id) {
  return with_group(shell, id, [](Runtime &rt, Group &g, void *) -> consort_status {
    g.epoch.fetch_add(1, std::memory_order_relaxed);
    if (rt.policy.splits())
      if (ThreadState *thread = rt.this_thread()) rt.policy.contexts().release_cancelled(*thread);
    return CONSORT_OK;
  }, nullptr);
}

consort_status consort_group_destroy(consort_runtime *shell, consort_group_id id) {
  return with_group(shell, id, [](Runtime &rt, Group &g, void *) -> consort_status {
    auto r = rt.groups.destroy(g);
    return r ? CONSORT_OK : set_error(r.error());
  }, nullptr);
}

consort_status consort_group_fd(consort_runtime *shell, consort_group_id id, int *fd) {
  if (!fd) return set_error(CONSORT_E_INVAL, "fd is NULL");
  return with_group(shell, id, [](Runtime &rt, Group &g, void *p) -> consort_status {
    auto r = rt.groups.fd(g);
    if (!r) return set_error(r.error());
    *static_cast<int *>(p) = *r;
    return CONSORT_OK;
  }, fd);
}

consort_status consort_wait_all(consort_runtime *shell, int64_t timeout_ns, uint32_t flags) {
  const ApiCall rt(shell, ApiCall::waits(timeout_ns));
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = check_wait_flags(flags); s < 0) return s;
  return guarded([&] {
    const consort_status s = wait_all(*rt, timeout_ns, flags);
    if (rt->detect_repeats)
      if (ThreadState *thread = rt->this_thread_if_any();
          thread && thread->watch && !thread->task && s != CONSORT_E_TIMEOUT)
        thread->watch->cut(*rt);
    return s;
  });
}

consort_status consort_group_failure(consort_runtime *shell, consort_group_id id, consort_failure *out) {
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_failure)");
  return with_group(shell, id, [](Runtime &, Group &g, void *p) -> consort_status {
    static thread_local std::shared_ptr<const Failure> shown;  // owns the strings that are returned
    static thread_local std::string chain;
    auto &o = *static_cast<consort_failure *>(p);
    std::lock_guard lock(g.mutex);
    shown = g.collected;
    if (!shown) {
      o = {o.size, CONSORT_OK, {0}, "", "", "", "", "", CONSORT_NONE, 0};
      return CONSORT_OK;
    }
    chain = shown->chain();
    o = {o.size,
         shown->status,
         {shown->task},
         shown->task_name.c_str(),
         shown->worker_name.c_str(),
         shown->data_name.c_str(),
         shown->text.c_str(),
         chain.c_str(),
         shown->worker,
         g.ncollected};
    return CONSORT_OK;
  }, out);
}

// -- queries ----------------------------------------------------------------------------------------------------

consort_status consort_get_info(consort_runtime *shell, consort_info *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_info)");
  const uint64_t finished = rt->finished();
  *out = {out->size,
          static_cast<uint32_t>(rt->workers.size()),
          static_cast<uint32_t>(rt->topology->spaces().size()),
          static_cast<uint32_t>(rt->topology->classes().size()),
          rt->policies.name().c_str(),
          rt->submitted(),
          finished,
          rt->data.live()};
  return CONSORT_OK;
}

consort_status consort_get_worker(consort_runtime *shell, uint32_t worker, consort_worker_info *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_worker_info)");
  if (worker >= rt->workers.size())
    return set_errorf(CONSORT_E_INVAL, "worker %u does not exist: there are %zu, numbered from 0", worker,
                      rt->workers.size());
  const Executor &w = *rt->executors[worker];
  int32_t os_cpu = -1;
  for (size_t i = 0; i < w.unit.cpuset.size() && os_cpu < 0; ++i)
    if (w.unit.cpuset[i]) os_cpu = static_cast<int32_t>(i * 64) + __builtin_ctzll(w.unit.cpuset[i]);
  *out = {out->size,
          w.id,
          w.unit.name.c_str(),
          w.unit.desc.klass,
          w.unit.desc.arch,
          w.ran.load(std::memory_order_relaxed) + w.extra_ran.load(std::memory_order_relaxed),
          w.busy_ns.load(std::memory_order_relaxed),
          w.unit.desc.space,
          w.unit.desc.numa,
          os_cpu,
          0};
  return CONSORT_OK;
}

uint64_t consort_explain(consort_runtime *shell, consort_task_id task, char *utf8, uint64_t cap) {
  std::string s;
  try {
    const ApiCall rt(shell, ApiCall::kEnds);
    s = rt ? (task.v ? describe_task(*rt, task.v) : describe_runtime(*rt)) : "the runtime has stopped";
  } catch (const std::bad_alloc &) {
    return 0;
  }
  if (utf8 && cap) {
    const size_t n = std::min<size_t>(s.size(), cap - 1);
    std::memcpy(utf8, s.data(), n);
    utf8[n] = 0;
  }
  return s.size();
}

consort_status consort_step(consort_runtime *shell, uint32_t worker) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!rt->manual)
    return set_error(CONSORT_E_BUSY,
                     "the runtime's own threads step its workers: set pump = \"manual\" to do it yourself");
  if (worker >= rt->workers.size())
    return set_errorf(CONSORT_E_INVAL, "worker %u does not exist: there are %zu, numbered from 0", worker,
                      rt->workers.size());
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  if (thread->task || thread->in_callback)
    return set_error(CONSORT_E_BUSY, "a task or a callback cannot step: it is inside a step");
  const PumpTurn turn(*rt, *thread);
  return pump_one(*rt, *thread, worker) ? CONSORT_OK : CONSORT_AGAIN;
}

consort_status consort_trace(consort_runtime *shell, void (*fn)(void *, const consort_trace_event *), void *user) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (rt->submitted())
    return set_error(CONSORT_E_BUSY, "tasks were submitted already: install the trace right after the start");
  rt->trace_user = user;
  rt->trace_fn = fn;
  rt->choose_paths();
  return CONSORT_OK;
}

}  // extern "C"
