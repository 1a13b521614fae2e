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

/* What a trace has: the setting `trace_only` at first, then consort_trace_select(). */
enum {
  CONSORT_TRACE_TASKS = 1 << 0,     /* runs, with begin and end */
  CONSORT_TRACE_COPIES = 1 << 1,
  CONSORT_TRACE_DECISIONS = 1 << 2, /* of the scheduler */
  CONSORT_TRACE_WAITS = 1 << 3,     /* of workers: for data, and asleep */
  CONSORT_TRACE_MEMORY = 1 << 4,    /* in use, and evictions */
  CONSORT_TRACE_GRAPH = 1 << 5,     /* submissions, if the setting `trace_graph` (or a report) asks for them */
  CONSORT_TRACE_ALL = (1 << 6) - 1
};
/* From now on events of these categories are recorded, and no others; 0: none. Events in flight may still be recorded, or not.
 * E_UNSUPPORTED: there is no trace. [any] */
CONSORT_API consort_status consort_trace_select(consort_runtime *rt, uint32_t categories);
/* How far the run is. */
typedef struct consort_progress {
  uint32_t size, running;   /* workers that run a task, or look for one */
  uint64_t submitted, done; /* tasks */
  uint64_t left_ns;         /* until the submitted tasks have ended, about, as fast as of late; UINT64_MAX: unknown */
} consort_progress;
#define CONSORT_PROGRESS_INIT {sizeof(consort_progress), 0, 0, 0, UINT64_MAX}
/* Fills *out; the caller sets out->size. The first call begins to look at how fast tasks end. The setting `progress` shows the
 * same as a line on the terminal. [any] */
CONSORT_API consort_status consort_get_progress(consort_runtime *rt, consort_progress *out);
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
