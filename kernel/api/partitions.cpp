// partitions.cpp — partition.h.
#include "api/entry.hpp"
#include "graph/complete.hpp"
#include "graph/link_steps.hpp"
#include "graph/partition_order.hpp"
#include "graph/submit.hpp"

using namespace consort;

namespace {

// f(plan) under the right over its tree.
template <class F>
int64_t with_plan(Runtime &rt, Hand &h, consort_plan_id id, F f) {
  Plans::Slot *slot = rt.plans.find(id);
  if (slot) {
    Claim claim(slot->whole.load(std::memory_order_relaxed), CONSORT_M_R);
    const SubmissionRight right(rt, h, &claim, 1);
    if (Plans::is(*slot, id)) return f(*slot->plan);
  }
  return set_error(id.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
                   id.v ? "the plan was destroyed, or its datum unregistered: its handle is stale"
                        : "the null handle names no plan");
}

}  // namespace

extern "C" {

consort_status consort_plan_create(consort_runtime *shell, consort_data_id data, const consort_plan_desc *desc,
                                   consort_plan_id *out) {
  const Visit rt(shell);
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
  Hand *h = rt->this_hand();
  if (!h) return CONSORT_E_NOMEM;
  return guarded([&] { return rt->plans.create(*h, data, *desc, out); });
}

int64_t consort_plan_parts(consort_runtime *shell, consort_plan_id plan, consort_data_id *out, uint32_t max) {
  const Visit rt(shell, Visit::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out && max) return set_error(CONSORT_E_INVAL, "out is NULL, but max is not 0");
  Hand *h = rt->this_hand();
  if (!h) return CONSORT_E_NOMEM;
  return with_plan(*rt, *h, plan, [&](const Plan &p) -> int64_t {
    for (uint32_t i = 0; i < p.n && i < max; ++i) out[i].v = p.part[i]->pub.id;
    return p.n;
  });
}

consort_status consort_plan_destroy(consort_runtime *shell, consort_plan_id plan) {
  const Visit rt(shell, Visit::kEnds);
  if (!rt) return refuse_shell(shell);
  Hand *h = rt->this_hand();
  if (!h) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    Task *t = h->take_lent();
    if (!t) return no_memory();
    blank(t, kBlank, nullptr, kEmpty);
    t->group = h->task ? h->task->group : &rt->groups.standard();
    Draft draft(*rt, *h, t);  // never sent: the steps are for its sake
    return static_cast<consort_status>(with_plan(*rt, *h, plan, [&](Plan &p) { return int64_t{end_plan(draft, p)}; }));
  });
}

}  // extern "C"
