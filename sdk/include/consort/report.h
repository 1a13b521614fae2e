/* consort/report.h — what is said of a run when it is over: a report reads the record of the run, which is a trace's text
 * (docs/trace.md), and answers in lines. Those that the setting `reports` names are loaded at the start and asked when
 * the runtime stops; any may be asked about a file. A report runs while nothing else does, and changes nothing. */
#ifndef CONSORT_REPORT_H
#define CONSORT_REPORT_H
#include "plugin.h"
#ifdef __cplusplus
extern "C" {
#endif
#define CONSORT_REPORT_MAJOR 0
#define CONSORT_REPORT_MINOR 1

enum { /* consort_report_ops.flags */
  CONSORT_RO_GRAPH = 1 << 0 /* needs to know what each task uses and comes after: submissions cost more then */
};
/* Where lines go, in order, each without its end. Good until report() returns. */
typedef struct consort_report_sink { void *user; void (*line)(void *user, const char *utf8); } consort_report_sink;
CONSORT_FROZEN(consort_report_sink, 16);
typedef struct consort_report_ops {
  uint32_t size, flags;
  consort_status (*report)(void *self, const char *record, uint64_t bytes, const consort_report_sink *); /* [control] the record ends with a NUL that is not counted; < 0: why is told by host->fail */
} consort_report_ops;

#ifdef __cplusplus
}
#endif
#endif
