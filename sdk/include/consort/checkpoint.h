/* consort/checkpoint.h — checkpoints of a job: data stored in a folder at a point of the sequence, and read back by a later job. In C11;
 * consort.h's rules hold. docs/distribute.md is the guide.
 *
 * The setting `checkpoint` names the folder, which all ranks share; `consort run --checkpoint FOLDER` sets it. Data are known by their
 * tags (consort_data_distribute()), so a later job may have another number of ranks. A checkpoint is complete when all ranks have stored
 * theirs; until then the one before stays the last, and an incomplete one is never read. */
#ifndef CONSORT_CHECKPOINT_H
#define CONSORT_CHECKPOINT_H
#include "distributed.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The complete checkpoint that the job found at its start. */
typedef struct consort_checkpoint_info {
  uint32_t size, nranks;          /* nranks: of the job that wrote it */
  uint64_t serial, number;        /* serial: counts the checkpoints of the folder from 1; 0: there is none. number: the application's */
  uint64_t ndata, bytes;
  const char *name, *folder;      /* name: the application's. folder: "" where no folder is set. Valid until the runtime stops */
} consort_checkpoint_info;
/* Describes it; the caller sets out->size. All ranks get the same answer, also after later checkpoints. E_IO: its manifest is damaged. E_BUSY:
 * another job uses the folder. E_INVAL: another user may change the folder. */
CONSORT_API consort_status consort_checkpoint_found(consort_runtime *rt, consort_checkpoint_info *out);

/* A point of the sequence that the application names. */
typedef struct consort_checkpoint_desc {
  uint32_t size, n;
  const consort_data_id *data;    /* n data of the job; NULL: all data of the job */
  const char *name;               /* printable ASCII, at most 255 bytes; NULL: "" */
  uint64_t number;                /* an iteration, say */
  consort_group_id group;         /* of *out; null: as of a task */
  consort_done_fn *done;          /* called at its end; may be NULL */
  void *done_arg;
} consort_checkpoint_desc;
#define CONSORT_CHECKPOINT_INIT {sizeof(consort_checkpoint_desc), 0, NULL, NULL, 0, {0}, NULL, NULL}
/* All ranks call it, as a task of the sequence: stores the contents that the data have here. Asynchronous: later tasks that only read
 * them go on; a task that writes a datum waits until it is stored. The task *out (may be NULL) ends on each rank when the checkpoint is
 * complete, or fails on all with the first reason: E_NOMEM a full disk, E_IO, E_PEER_LOST, E_POISONED. Then the one before remains. */
CONSORT_API consort_status consort_checkpoint_save(consort_runtime *rt, const consort_checkpoint_desc *desc, consort_task_id *out);
/* All ranks call it, as a task of the sequence, before the first consort_checkpoint_save(): each of the n data (NULL: all data of the job)
 * is written at its owner with its contents in the checkpoint that was found. A failure poisons the datum. E_INVAL: there is no
 * checkpoint, or it has no datum with that tag; nothing is read. */
CONSORT_API consort_status consort_checkpoint_restore(consort_runtime *rt, const consort_data_id *data, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
