// submitters.cpp — submitters.h: threads that take turns in virtual time.
#include <consort/submitters.h>

#include "api/entry.hpp"

using namespace consort;

extern "C" {

consort_status consort_submitter_enter(consort_runtime *shell, uint32_t number, uint32_t count) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!rt->virtual_time) return CONSORT_OK;
  if (const consort_status s = refuse_inside(*rt, "consort_submitter_enter()"); s < 0) return s;
  return guarded([&]() -> consort_status {
    ThreadState *const thread = rt->this_thread();
    if (!thread) return set_error(CONSORT_E_NOMEM, "no memory for the record of a thread");
    auto entered = rt->submitter_turns.enter(*thread, number, count);
    return entered ? CONSORT_OK : set_error(entered.error().status, entered.error().text);
  });
}

consort_status consort_submitter_leave(consort_runtime *shell) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!rt->virtual_time) return CONSORT_OK;
  return guarded([&]() -> consort_status {
    ThreadState *const thread = rt->this_thread();
    if (!thread) return set_error(CONSORT_E_NOMEM, "no memory for the record of a thread");
    auto left = rt->submitter_turns.leave(*thread);
    return left ? CONSORT_OK : set_error(left.error().status, left.error().text);
  });
}

}  // extern "C"
