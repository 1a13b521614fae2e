// clock.cpp — consort/clock.h: the runtime's clock.
#include <consort/clock.h>

#include "api/entry.hpp"
#include "api/runtime.hpp"
#include "base/last_error.hpp"

using namespace consort;

consort_status consort_now(consort_runtime *shell, uint64_t *ns) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!ns) return set_error(CONSORT_E_INVAL, "ns is NULL: give a place for the time");
  *ns = rt->clock.now();
  return CONSORT_OK;
}
