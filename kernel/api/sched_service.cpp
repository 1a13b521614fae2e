// sched_service.cpp — consort.sched/1: answers to a policy's questions. Any thread; takes no lock.
#include <algorithm>

#include "api/runtime.hpp"
#include "memory/host_data.hpp"
#include "plugin/registry.hpp"
#include "sched/host_model.hpp"
#include "task/codelet.hpp"
#include "task/data.hpp"
#include "task/edges.hpp"
#include "task/eligibility.hpp"
#include "task/run_observer.hpp"

namespace consort {
namespace {

Runtime &runtime_of(const consort_host *host) { return *static_cast<Runtime *>(static_cast<Core *>(host_user(host))); }
const Task &kernel_task(const consort_task *t) { return *reinterpret_cast<const Task *>(t); }

const consort_topology *topology(const consort_host *host) { return runtime_of(host).topology->snapshot(); }

// If no worker in question can run the task, workers whose device is lost or has refused the kernel's text count as able:
// otherwise the policy would keep the task for ever. They pass it to a worker outside the question, or it fails there.
void count_refusing_as_able(Runtime &rt, const Task &t, const uint32_t *workers, uint32_t nw, uint64_t *out) {
  const Codelet &c = *t.codelet;
  const auto &units = rt.topology->units();
  for (uint32_t w = 0; w < nw; ++w) {
    if (workers[w] >= units.size()) continue;
    const Unit &unit = units[workers[w]];
    if (!rt.lost.has(unit)) out[w] = able(rt, c, unit.klass, workers[w], asked_about(t));
    else
      for (size_t i = 0; i < c.impls.size(); ++i)
        if (c.impls[i].klass == unit.klass) out[w] |= uint64_t{1} << i;
  }
}

void can_execute(const consort_host *host, const consort_task *const *tasks, uint32_t nt, const uint32_t *workers,
                 uint32_t nw, uint64_t *out) {
  Runtime &rt = runtime_of(host);
  const auto &units = rt.topology->units();
  for (uint32_t t = 0; t < nt; ++t) {
    const Codelet *c = kernel_task(tasks[t]).codelet;
    const TaskName asked = asked_about(kernel_task(tasks[t]));
    const bool alike = c && c->class_settles();
    uint32_t last = CONSORT_NONE;  // class of the previous worker
    for (uint32_t w = 0; w < nw; ++w, ++out) {
      if (!c) {
        *out = 0;
      } else if (workers[w] < units.size()) {
        const uint32_t klass = units[workers[w]].klass;
        if (alike && klass == last && !rt.lost.any()) *out = out[-1];
        else *out = without_refused(rt, *c, workers[w], able(rt, *c, klass, workers[w], asked));
        last = klass;
      } else {
        const Team *team = rt.topology->team(workers[w]);
        *out = team && may_run(*tasks[t], *team) ? able_team(rt, *c, *team, asked) : 0;
        last = CONSORT_NONE;
      }
    }
    if (c && (rt.lost.any() || !alike) && std::all_of(out - nw, out, [](uint64_t mask) { return mask == 0; }))
      count_refusing_as_able(rt, kernel_task(tasks[t]), workers, nw, out - nw);
  }
}

uint32_t successors(const consort_host *host, const consort_task *task, const consort_task **out, uint32_t max) {
  return consort::successors(runtime_of(host).tasks, kernel_task(task), out, max);
}

void decided(const consort_host *host, const consort_task *task, uint32_t worker, float run_ns, uint64_t end_ns) {
  if (RunObserver *told = runtime_of(host).run_observer) told->decided(task->id, worker, run_ns, end_ns);
}

void ranked(const consort_host *host, const consort_task *task, float ns) {
  Runtime &rt = runtime_of(host);
  if (!rt.data.placement || !(ns > 0)) return;
  if (ThreadState *thread = rt.this_thread_if_any())
    thread->ranked = task->id, thread->rank = std::min(ns, ThreadState::kLongest);
}

const char *codelet_name(const consort_host *, const consort_task *task) {
  const Codelet *c = kernel_task(task).codelet;
  return c && !c->name.empty() ? c->name.c_str() : nullptr;
}

}  // namespace

const consort_sched_host *sched_services() noexcept {
  static constexpr consort_sched_host table = {sizeof(consort_sched_host),
                                               0,
                                               topology,
                                               can_execute,
                                               sched::expected_ns,
                                               sched::energy_uj,
                                               sched::transfer_ns,
                                               sched::resident,
                                               sched::load_ns,
                                               sched::room,
                                               successors,
                                               sched::prefetch,
                                               sched::unneeded,
                                               decided,
                                               codelet_name,
                                               sched::lacking,
                                               ranked};
  return &table;
}

}  // namespace consort
