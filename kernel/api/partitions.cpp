// partitions.cpp — partition.h: plans of parts.
#include "api/entry.hpp"
#include "graph/link_steps.hpp"
#include "graph/partition_order.hpp"
#include "graph/submit.hpp"

using namespace consort;

namespace {

// Runs f(plan) under the right over the plan's tree.
template <class F>
int64_t with_plan(Runtime &rt, ThreadState &thread, consort_plan_id id, F f) {
  PartitionPlans::Slot *slot = rt.plans.find(id);
  if (slot) {
    Claim claim(slot->whole.load(std::memory_order_relaxed), CONSORT_M_R);
    const SubmissionRight right(rt, thread, &claim, 1);
    if (PartitionPlans::is(*slot, id)) return f(*slot->plan);
  }
  return set_error(id.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
                   id.v ? "the plan was destroyed, or its datum unregistered: its handle is stale"
                        : "the null handle names no plan");
}

}  // namespace

extern "C" {

consort_status consort_plan_create(consort_runtime *shell, consort_data_id data, const consort_plan_desc *desc,
                                   consort_plan_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!desc || !out) return set_errorf(CONSORT_E_INVAL, "%s is NULL", desc ? "out" : "the plan's description");
  if (desc->size < sizeof *desc)
    return set_errorf(CONSORT_E_INVAL, "desc->size is %u: set it to sizeof(consort_plan_desc)", desc->size);
  if (desc->flags & ~uint32_t{CONSORT_PLAN_READ_ONLY})
    return set_errorf(CONSORT_E_INVAL, "desc->flags has 0x%x, which this runtime does not know",
                      desc->flags & ~uint32_t{CONSORT_PLAN_READ_ONLY});
  if (!desc->filter || !*desc->filter)
    return set_error(CONSORT_E_INVAL, "no filter is named: consort/layouts.h says what each interface has");
  if (!desc->params && desc->params_bytes)
    return set_error(CONSORT_E_INVAL, "params is NULL, but params_bytes is not 0");
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&] { return rt->plans.create(*thread, data, *desc, out); });
}

int64_t consort_plan_parts(consort_runtime *shell, consort_plan_id plan, consort_data_id *out, uint32_t max) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out && max) return set_error(CONSORT_E_INVAL, "out is NULL, but max is not 0");
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return with_plan(*rt, *thread, plan, [&](const PartitionPlan &p) -> int64_t {
    for (uint32_t i = 0; i < p.n && i < max; ++i) out[i].v = p.part[i]->pub.id;
    return p.n;
  });
}

consort_status consort_plan_destroy(consort_runtime *shell, consort_plan_id plan) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    Task *t = thread->take_lent();
    if (!t) return no_memory();
    blank_special(t, TaskKind::kEmpty);
    t->group = thread->task ? thread->task->group : &rt->groups.standard();
    SubmissionDraft draft(*rt, *thread, t);  // not submitted; a carrier for the steps
    return static_cast<consort_status>(
        with_plan(*rt, *thread, plan, [&](PartitionPlan &p) { return int64_t{end_plan(draft, p)}; }));
  });
}

}  // extern "C"
