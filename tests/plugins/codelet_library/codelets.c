/* codelets.c — a codelet in a library that comes and goes. */
#include <consort/layouts.h>
#include <consort/driver.h>

CONSORT_EXPORT consort_status library_increment(const consort_call *call);
consort_status library_increment(const consort_call *call) {
  const consort_variable_view *v = call->views[0];
  ++*(long *)consort_ptr(v->addr);
  return CONSORT_OK;
}
