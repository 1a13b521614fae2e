/* consort/reports.h — the record of a run and reports on it. The application's side, C11; not included by consort.h; its rules hold.
 *
 * All calls are optional: a runtime with the setting `reports` (or `trace`) records from its start, and reports (or writes) when it
 * stops. */
#ifndef CONSORT_REPORTS_H
#define CONSORT_REPORTS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef void consort_line_fn(void *user, const char *utf8); /* a line without its end, good until the call returns */

/* Clears the record: it begins here. E_BUSY while tasks run. E_UNSUPPORTED: nothing is recorded. */
CONSORT_API consort_status consort_report_begin(consort_runtime *rt);
/* Runs a report, named by the setting `reports`, on the run so far. E_BUSY while tasks run. */
CONSORT_API consort_status consort_report_now(consort_runtime *rt, const char *report, consort_line_fn *line, void *user);
/* Runs a report on a file that a runtime has written (the setting `trace`, with `trace_graph`). Starts no runtime; `settings`
 * may be NULL. */
CONSORT_API consort_status consort_report_file(const consort_settings *settings, const char *report, const char *path, consort_line_fn *line, void *user);

#ifdef __cplusplus
}
#endif
#endif
