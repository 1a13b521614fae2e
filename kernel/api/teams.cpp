#include <consort/teams.h>

#include "api/entry.hpp"
#include "task/eligibility.hpp"

using namespace consort;

namespace {

consort_status refuse_team(const Runtime &rt, uint32_t id) noexcept {
  return set_errorf(CONSORT_E_INVAL, "team %u does not exist: there are %zu, numbered from %zu, behind the workers", id,
                    rt.topology->teams().size(), rt.workers.size());
}

}  // namespace

extern "C" {

consort_status consort_team_count(consort_runtime *shell, uint32_t *n) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!n) return set_error(CONSORT_E_INVAL, "n is NULL");
  *n = static_cast<uint32_t>(rt->topology->teams().size());
  return CONSORT_OK;
}

consort_status consort_get_team(consort_runtime *shell, uint32_t id, consort_team_info *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out || out->size < sizeof *out)
    return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not sizeof(consort_team_info)");
  const Team *t = rt->topology->team(id);
  if (!t) return refuse_team(*rt, id);
  *out = {out->size, t->id, t->name.c_str(), rt->topology->classes()[t->klass], t->members.data(), t->size(), t->space};
  return CONSORT_OK;
}

consort_status consort_team_can_run(consort_runtime *shell, uint32_t id, consort_codelet_id codelet) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  const Team *t = rt->topology->team(id);
  if (!t && id >= rt->workers.size()) return refuse_team(*rt, id);
  const Codelet *c = rt->codelets.find(codelet);
  if (!c || !c->live.load(std::memory_order_acquire))
    return rt->codelets.ever_gave(codelet)
               ? set_error(CONSORT_E_STALE, "the codelet was removed: its handle is stale")
               : set_error(CONSORT_E_INVAL, "no codelet of this runtime: consort_codelet_add() gives one");
  if (t) return may_run(c->blank, *t) ? CONSORT_OK : CONSORT_AGAIN;
  const Worker &w = *rt->workers[id];
  const uint32_t only = rt->only_worker;
  const bool elsewhere = c->for_teams() && only != CONSORT_NONE && only != id && !w.has_queue;
  return (c->where >> w.klass & 1) && !elsewhere ? CONSORT_OK : CONSORT_AGAIN;
}

consort_status consort_bind_to_team(const consort_call *call) {
  if (!call) return set_error(CONSORT_E_INVAL, "call is NULL: give what the function was called with");
  if (consort_call_team(call) == CONSORT_NONE || !call->cpuset) return CONSORT_AGAIN;
  if (bind_this_thread(call->cpuset, call->cpuset_words, nullptr)) return CONSORT_OK;
  return set_error(CONSORT_E_INVAL, "the system does not let this thread run on the team's cores");
}

}  // extern "C"
