/* consort/settings.h — what a running runtime may change: whether tasks are timed, and the order of later data.
 * The application's side, C11; not included by consort.h; its rules hold. */
#ifndef CONSORT_SETTINGS_H
#define CONSORT_SETTINGS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Changes the setting `profile`. on = 1: tasks that start from now on are timed, and count in busy_ns. 0: no longer; what was counted
 * stays. *was, unless NULL: the value before. */
CONSORT_API consort_status consort_runtime_set_profile(consort_runtime *rt, int32_t on, int32_t *was);
/* ordered = 0: data registered from now on begin as after consort_data_set_ordered(0). 1: with the usual order, as at the start. *was,
 * unless NULL: the value before. Data of earlier registrations stay as they are. */
CONSORT_API consort_status consort_runtime_set_ordered(consort_runtime *rt, int32_t ordered, int32_t *was);

#ifdef __cplusplus
}
#endif
#endif
