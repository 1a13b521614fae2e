/* consort/report.h — a report reads the record of a finished run, the text of a trace (docs/trace.md), and returns lines of text.
 * Reports named by the setting `reports` are loaded at the start and called when the runtime stops; any report can read a trace file.
 * A report runs while no task does, and changes nothing. */
#ifndef CONSORT_REPORT_H
#define CONSORT_REPORT_H
#include "plugin.h"
#ifdef __cplusplus
extern "C" {
#endif
#define CONSORT_REPORT_MAJOR 0
#define CONSORT_REPORT_MINOR 1

enum { /* consort_report_ops.flags */
  CONSORT_RO_GRAPH = 1 << 0 /* needs data and predecessors of each task: submissions cost more */
};
/* Receives lines in order, each without line end. Valid until report() returns. */
typedef struct consort_report_sink { void *user; void (*line)(void *user, const char *utf8); } consort_report_sink;
CONSORT_FROZEN(consort_report_sink, 16);
typedef struct consort_report_ops {
  uint32_t size, flags;
  consort_status (*report)(void *self, const char *record, uint64_t bytes, const consort_report_sink *); /* [control] record: NUL-terminated, NUL not counted; < 0: error, reason by host->fail */
} consort_report_ops;

#ifdef __cplusplus
}
#endif
#endif
