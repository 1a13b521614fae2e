/* consort/replay.h — recordings: a sequence of submissions, analysed once, run many times.
 * The application's side, C11; included by consort.h, whose rules hold.
 *
 * A recording holds the submissions of one thread between record_begin and record_end, with their dependencies. To other tasks,
 * a replay is one task that uses all the data of the sequence: it runs after earlier submissions on them and before later ones.
 * Inside a replay, a task costs one counter per edge. */
#ifndef CONSORT_REPLAY_H
#define CONSORT_REPLAY_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct consort_recording_id { uint64_t v; } consort_recording_id;
CONSORT_FROZEN(consort_recording_id, 8);

enum { /* flags of record_begin */
  CONSORT_RECORD_ONLY = 1 << 0     /* the submissions do not run now; they return ids of recorded tasks: see below */
};
/* Recorded: consort_submit with data, values, priority, worker, after (tasks of the same recording), name, work and footprint.
 * Refused with E_UNSUPPORTED and an error text, and left out of the recording: tags, hooks and `done`, held completions, repetition,
 * reduction, parts of data (partition.h), groups other than the default one. Waiting, acquiring and registering are allowed and not
 * recorded. */
CONSORT_API consort_status consort_record_begin(consort_runtime *rt, uint32_t flags);
/* Ends the recording. E_INVAL: this thread is not recording, or a task was refused meanwhile; then there is no recording. */
CONSORT_API consort_status consort_record_end(consort_runtime *rt, consort_recording_id *out);

typedef struct consort_recording_info { uint32_t size, ntasks, ndata, reserved; uint64_t nedges, replays, bytes; } consort_recording_info;
/* Returns the numbers of tasks, data and edges, the number of replays, and the size in bytes. E_STALE: it was destroyed. */
CONSORT_API consort_status consort_recording_get_info(consort_runtime *rt, consort_recording_id rec, consort_recording_info *out);

/* Runs it once more; asynchronous. Replays of one recording run one after the other. out (may be NULL): the whole as one task, which
 * counts as one in its group; its status is that of the first task that failed in it. E_STALE, with its name: a datum or codelet no
 * longer exists. */
CONSORT_API consort_status consort_replay(consort_runtime *rt, consort_recording_id rec, consort_group_id group, consort_task_id *out);

/* Replaces one datum in the whole sequence, from the next replay on. The new datum has the same interface and is not part of the
 * sequence. Tasks are numbered from 0 in order of submission. E_BUSY: a replay is pending or running. */
CONSORT_API consort_status consort_recording_set_data(consort_runtime *rt, consort_recording_id rec, consort_data_id old, consort_data_id now);
/* Replaces one value: same kind and no more bytes than the recorded one. */
CONSORT_API consort_status consort_recording_set_arg(consort_runtime *rt, consort_recording_id rec, uint32_t task, uint32_t arg, const consort_arg *value);
/* Replaces the priority of one task. E_INVAL: no task of that number. */
CONSORT_API consort_status consort_recording_set_priority(consort_runtime *rt, consort_recording_id rec, uint32_t task, int32_t priority);

/* Destroys the recording, after its replays have ended. Its data and codelets may be removed afterwards. */
CONSORT_API consort_status consort_recording_destroy(consort_runtime *rt, consort_recording_id rec);

/* Repetition found with the setting detect_repeats: how often the sequence of submissions repeated and its length. Also logged,
 * once. */
typedef struct consort_repeats { uint32_t size, reserved; uint64_t times, ntasks; } consort_repeats;
/* Returns the repetition of the calling thread's submissions. E_UNSUPPORTED: the setting detect_repeats is off. */
CONSORT_API consort_status consort_get_repeats(consort_runtime *rt, consort_repeats *out);

#ifdef __cplusplus
}
#endif
#endif
