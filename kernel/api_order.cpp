// api_order.cpp — order.h: order that data do not say.
#include "api.hpp"
#include "callback.hpp"
#include "complete.hpp"
#include "submit.hpp"
#include "wait.hpp"

using namespace consort;

extern "C" {

// -- tasks ----------------------------------------------------------------------------------------------------

consort_task_id consort_current_task(consort_runtime *shell) {
  Runtime *rt = enter(shell);
  const Hand *h = rt ? rt->this_hand_if_any() : nullptr;
  return {h && h->task ? h->task->pub.id : 0};
}

uint32_t consort_current_worker(consort_runtime *shell) {
  Runtime *rt = enter(shell);
  const Hand *h = rt ? rt->this_hand_if_any() : nullptr;
  return h && h->seat ? h->seat->id : CONSORT_NONE;
}

consort_status consort_submit_list(consort_runtime *shell, const consort_task_desc *const *tasks, uint32_t n, consort_task_id *ids, uint32_t *submitted) {
  if (submitted) *submitted = 0;
  if (!enter(shell)) return refuse_shell(shell);
  if (n && !tasks) return set_error(CONSORT_E_INVAL, "tasks is NULL, but n is not 0");
  for (uint32_t i = 0; i < n; ++i) {
    if (const consort_status s = consort_submit(shell, tasks[i], ids ? &ids[i] : nullptr); s < 0) return s;
    if (submitted) *submitted = i + 1;
  }
  return CONSORT_OK;
}

}  // extern "C"
