/* consort/distributed.h — one program on several ranks. In C11; consort.h's rules hold. docs/distribute.md is the guide.
 *
 * Each rank is a process with a runtime of its own, which joins the job. Every rank registers the same data, names the owner of each,
 * and calls consort_job_submit() with the same tasks in the same order. A task runs on the rank that owns the data that it writes. The
 * contents that it reads are sent there as tasks of both local graphs, once, until they are overwritten. Ranks that a task does not
 * concern drop it at once. A failure poisons the readers on all ranks. Without a job of several ranks everything is local. */
#ifndef CONSORT_DISTRIBUTED_H
#define CONSORT_DISTRIBUTED_H
#include "consort.h"
#include "transport.h"
#ifdef __cplusplus
extern "C" {
#endif

/* -- the job ------------------------------------------------------------------------------------------ */

/* How to join a job. */
typedef struct consort_job_desc {
  uint32_t size, flags;
  const consort_boot *boot;       /* lent until the runtime stops; NULL: as `consort run` says by the environment, else one rank */
  const char *transport;          /* NULL: the setting `transport` */
  int64_t timeout_ns;             /* 0: the setting `join_seconds` */
} consort_job_desc;
#define CONSORT_JOB_DESC_INIT {sizeof(consort_job_desc), 0, NULL, NULL, 0}
/* Joins the job; all ranks call it. Returns when all ranks are connected. desc NULL: defaults. The runtime leaves the job when it
 * stops. E_TIMEOUT, E_PEER_LOST: some rank did not come. E_BUSY: joined already. */
CONSORT_API consort_status consort_job_join(consort_runtime *rt, const consort_job_desc *desc);

/* This rank of a job. */
typedef struct consort_job_info {
  uint32_t size, rank, nranks, reserved;
  const char *name, *transport;   /* transport: "" in a job of one rank. Valid until the runtime stops */
} consort_job_info;
/* Describes the job. The caller sets out->size. E_INVAL: no job was joined. */
CONSORT_API consort_status consort_job_get(consort_runtime *rt, consort_job_info *out);
/* OK: the rank is connected. E_PEER_LOST: it was lost, or has left the job; consort_error() says how. *host (may be NULL) is the name
 * of its host, valid until the runtime stops. */
CONSORT_API consort_status consort_job_rank(consort_runtime *rt, uint32_t rank, const char **host);
/* Waits until all ranks have called it; does not wait for tasks. E_PEER_LOST: some rank cannot. */
CONSORT_API consort_status consort_job_barrier(consort_runtime *rt, int64_t timeout_ns);
/* Asks the launcher to end all ranks, and returns. */
CONSORT_API consort_status consort_job_abort(consort_runtime *rt, const char *why);

/* The part of a program that one rank runs. Returns its exit status. */
typedef int consort_rank_fn(int argc, char **argv);
/* Runs `rank`, and returns what it returns. `consort sim -n N --one-process` lets it run once for each rank of the job, each on a thread
 * of its own; then it returns the first status that is not 0. Each run starts and stops a runtime of its own. Runs share nothing that
 * they write, and wait for one another by the job alone. To be what main() returns. */
CONSORT_API int consort_rank_main(consort_rank_fn *rank, int argc, char **argv);

/* -- data with an owner ------------------------------------------------------------------------------- */

/* Makes the datum one of the job: it is the same datum on all ranks that name it by this tag, and its contents live at `owner`. Each
 * tag names one datum. All ranks call it, with the same owner. Ranks other than the owner register the datum without a home. */
CONSORT_API consort_status consort_data_distribute(consort_runtime *rt, consort_data_id data, uint64_t tag, uint32_t owner);
/* Returns the owner and the tag of a datum of the job; both may be NULL. E_INVAL: none of the job. */
CONSORT_API consort_status consort_data_owner(consort_runtime *rt, consort_data_id data, uint32_t *owner, uint64_t *tag);
/* All ranks call it, as a task of the sequence: the datum belongs to `owner` from here on, which gets its contents. */
CONSORT_API consort_status consort_data_migrate(consort_runtime *rt, consort_data_id data, uint32_t owner);
/* All ranks call it, as a task of the sequence: brings the contents to `rank`, unless it has them. */
CONSORT_API consort_status consort_data_fetch(consort_runtime *rt, consort_data_id data, uint32_t rank);
/* All ranks call it, as a task of the sequence: the contents of all n data are at `root`, which has registered memory for them; each
 * is sent to its owner. */
CONSORT_API consort_status consort_data_scatter(consort_runtime *rt, const consort_data_id *data, uint32_t n, uint32_t root);
/* All ranks call it, as a task of the sequence: the contents of each datum are sent from its owner to `root`. */
CONSORT_API consort_status consort_data_gather(consort_runtime *rt, const consort_data_id *data, uint32_t n, uint32_t root);
/* All ranks call it, as a task of the sequence: the contents are sent from the owner to all ranks, along a binomial tree. */
CONSORT_API consort_status consort_data_broadcast(consort_runtime *rt, consort_data_id data);
/* All ranks call it, as a task of the sequence: parts[0] becomes the combination of all n parts, which may have different owners. The
 * codelet `combine` adds the second datum (R) to the first (RW), along a binomial tree that depends on n alone, so the result is the
 * same to the last bit on any number of ranks. Other parts have partial results afterwards. consort_data_broadcast() makes it an
 * allreduce. */
CONSORT_API consort_status consort_data_reduce(consort_runtime *rt, const consort_data_id *parts, uint32_t n, consort_codelet_id combine);
/* All ranks call it, as a task of the sequence: copies on other ranks than the owner are dropped (null: of all data of the job), and
 * the next readers get the contents again. To be called after the owner has changed a datum otherwise than by the sequence. */
CONSORT_API consort_status consort_data_flush(consort_runtime *rt, consort_data_id data);

/* -- the sequence of tasks ------------------------------------------------------------------------------ */

enum { /* consort_place.flags; at most one of them. 0: where the written data live */
  CONSORT_PLACE_RANK = 1 << 0,    /* on `rank`; written data of other owners are sent back to them */
  CONSORT_PLACE_DATA = 1 << 1,    /* on the rank that owns `data` */
  CONSORT_PLACE_BYTES = 1 << 2    /* on the rank that owns most bytes of its data; of equal ranks the lowest */
};
/* The rank that runs a task. */
typedef struct consort_place { uint32_t size, flags, rank, reserved; consort_data_id data; } consort_place;
#define CONSORT_PLACE_INIT {sizeof(consort_place), 0, 0, 0, {0}}
/* Submits a task of the job; all ranks call it, in the same order, one thread at a time. It runs on one rank, `place`; NULL: the owner
 * of the data that it writes, or of the first datum if it writes none. On other ranks *out (may be NULL) is null. Data that are none
 * of the job are this rank's own. E_INVAL: owners of the written data differ and no place is given, or it uses no datum of the job.
 * A refusal leaves the ranks with different sequences: end the job (consort_job_abort). */
CONSORT_API consort_status consort_job_submit(consort_runtime *rt, const consort_task_desc *task, const consort_place *place, consort_task_id *out);

/* -- messages ------------------------------------------------------------------------------------------- */

enum { /* consort_message.flags */
  CONSORT_MESSAGE_SYNC = 1 << 0   /* a send ends only when its receive has begun */
};
/* A send or a receive: a task that reads or writes `data`, ordered like any task. The n-th send with a tag to a rank goes to the n-th
 * receive of that tag from the sender. Tags of messages and of data do not mix. */
typedef struct consort_message {
  uint32_t size, flags;
  consort_data_id data;
  uint32_t rank, reserved;        /* the other rank */
  uint64_t tag;
  consort_group_id group;         /* null: as of a task */
  consort_done_fn *done;          /* called at its end; may be NULL */
  void *done_arg;
} consort_message;
#define CONSORT_MESSAGE_INIT {sizeof(consort_message), 0, {0}, 0, 0, 0, {0}, NULL, NULL}
/* Submits a send; asynchronous. *out (may be NULL) is the request: consort_task_wait(), consort_task_state(). It ends when the memory
 * of the datum is free again. */
CONSORT_API consort_status consort_send(consort_runtime *rt, const consort_message *message, consort_task_id *out);
/* Submits a receive, likewise. It ends when the contents are there. E_INVAL at its end: the sender's datum has another size. */
CONSORT_API consort_status consort_receive(consort_runtime *rt, const consort_message *message, consort_task_id *out);

#ifdef __cplusplus
}
#endif
#endif
