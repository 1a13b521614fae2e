/* consort/reports.h — the record of a run, and what reports make of it. The application's side, C11; for whoever includes
 * it: consort.h does not. consort.h's rules hold.
 *
 * Nobody has to call any of this: a runtime with the setting `reports` (or `trace`) records from its start, and reports
 * (or writes) when it stops. */
#ifndef CONSORT_REPORTS_H
#define CONSORT_REPORTS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef void consort_line_fn(void *user, const char *utf8); /* a line without its end, good until the call returns */

/* Forgets what was recorded so far: the record begins here. While nothing runs (else E_BUSY). E_UNSUPPORTED: nothing is recorded. */
CONSORT_API consort_status consort_report_begin(consort_runtime *rt);
/* What a report says of the run so far; one that the setting `reports` names. While nothing runs (else E_BUSY). */
CONSORT_API consort_status consort_report_now(consort_runtime *rt, const char *report, consort_line_fn *line, void *user);
/* What a report says of a file that a runtime has written (the setting `trace`, with `trace_graph`). No runtime is started; `settings`
 * may be NULL. */
CONSORT_API consort_status consort_report_file(const consort_settings *settings, const char *report, const char *path, consort_line_fn *line, void *user);

#ifdef __cplusplus
}
#endif
#endif
