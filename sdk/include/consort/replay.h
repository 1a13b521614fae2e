/* consort/replay.h — a sequence of submissions, analysed once, run many times.
 * The application's side, C11; included by consort.h, whose rules hold.
 *
 * What one thread submits between record_begin and record_end is kept with its dependencies. A replay is, to the
 * outside, one task that uses all the data of the sequence: it comes after what was submitted on them before, and what
 * is submitted later comes after it. Inside, each task costs a count per edge. */
#ifndef CONSORT_REPLAY_H
#define CONSORT_REPLAY_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct consort_recording_id { uint64_t v; } consort_recording_id;
CONSORT_FROZEN(consort_recording_id, 8);

enum { /* flags of record_begin */
  CONSORT_RECORD_ONLY = 1 << 0     /* the submissions do not run now; the ids that they return are those of recorded tasks: see below */
};
/* Recorded: consort_submit with data, values, priority, worker, after (tasks of the same recording), name, work and footprint.
 * Refused meanwhile with E_UNSUPPORTED, named, and the recording goes on without them: tags, hooks and `done`, ends that are held,
 * repetition, reduction, parts of data (partition.h), groups other than the default one. Waiting, acquiring and registering are fine and not part of it. */
CONSORT_API consort_status consort_record_begin(consort_runtime *rt, uint32_t flags);
/* E_INVAL: this thread records nothing. Also where a task was refused meanwhile: then there is no recording. */
CONSORT_API consort_status consort_record_end(consort_runtime *rt, consort_recording_id *out);

typedef struct consort_recording_info { uint32_t size, ntasks, ndata, reserved; uint64_t nedges, replays, bytes; } consort_recording_info;
/* How many tasks, data and edges it has, how often it was replayed, the bytes that it takes. E_STALE: it was
 * destroyed. */
CONSORT_API consort_status consort_recording_get_info(consort_runtime *rt, consort_recording_id rec, consort_recording_info *out);

/* Runs it once more. Asynchronous; one recording's replays run one after the other. out (may be NULL): the whole as one task, which
 * counts as one in its group; its status is that of the first task that failed in it. E_STALE, named: a datum or codelet of it is gone. */
CONSORT_API consort_status consort_replay(consort_runtime *rt, consort_recording_id rec, consort_group_id group, consort_task_id *out);

/* From the next replay on; while one is pending or running: E_BUSY. Tasks are numbered as they were submitted, from 0.
 * Another datum in place of one: same interface, everywhere in the sequence; not one that the sequence uses already. */
CONSORT_API consort_status consort_recording_set_data(consort_runtime *rt, consort_recording_id rec, consort_data_id old, consort_data_id now);
/* Another value: same kind and no more bytes than the one recorded. */
CONSORT_API consort_status consort_recording_set_arg(consort_runtime *rt, consort_recording_id rec, uint32_t task, uint32_t arg, const consort_arg *value);
/* Another priority of one task. E_INVAL: there is no task of that number. */
CONSORT_API consort_status consort_recording_set_priority(consort_runtime *rt, consort_recording_id rec, uint32_t task, int32_t priority);

/* Waits until it does not run. Its data are free again. */
CONSORT_API consort_status consort_recording_destroy(consort_runtime *rt, consort_recording_id rec);

/* With the setting detect_repeats: how often the sequence between the two last waits for everything had come before, unchanged;
 * and how long it was. It is also logged, once. */
typedef struct consort_repeats { uint32_t size, reserved; uint64_t times, ntasks; } consort_repeats;
/* Of the calling thread's submissions. E_UNSUPPORTED: the setting detect_repeats is off. */
CONSORT_API consort_status consort_get_repeats(consort_runtime *rt, consort_repeats *out);

#ifdef __cplusplus
}
#endif
#endif
