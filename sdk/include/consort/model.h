/* consort/model.h — what tasks take: how a codelet's tasks are modelled, and what is known of them.
 * The application's side, C11; for whoever includes it: consort.h does not. consort.h's rules hold.
 *
 * Nobody has to call any of this. Once a scheduler asks what tasks take, each codelet has a history: its tasks are measured, and what
 * is told of the next one is the median of those before it of the same size (footprint), on the same kind of unit, by the same
 * implementation. Codelets that are given a model here are measured from then on, whoever asks. */
#ifndef CONSORT_MODEL_H
#define CONSORT_MODEL_H
#include "consort.h"
#include "scheduler.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { CONSORT_MODEL_TIME, CONSORT_MODEL_ENERGY }; /* `what`: ns of a task's run, and µJ */
enum { /* consort_model.kind */
  CONSORT_MODEL_NONE = 0,         /* neither measured nor told */
  CONSORT_MODEL_HISTORY = 1,      /* measured, by size */
  CONSORT_MODEL_COMMON = 2,       /* `cost` for all, times the factor of the unit's class */
  CONSORT_MODEL_PER_CLASS = 3,    /* `cost`, asked once for each kind of unit */
  CONSORT_MODEL_PER_WORKER = 4,   /* `cost`, asked for each worker */
  /* Histories too; a size that too little is known of has what a curve through the others says, not far beyond them: by `measure`, x */
  CONSORT_MODEL_LINEAR = 5,       /* a x + c */
  CONSORT_MODEL_POWER = 6,        /* a x^b */
  CONSORT_MODEL_POWER_OFFSET = 7, /* a x^b + c, c not negative */
  CONSORT_MODEL_TERMS = 8         /* a sum of terms, each a factor times measures to the power of `exponents`, and a constant */
};
enum { CONSORT_MODEL_MEASURES = 4, CONSORT_MODEL_TERMS_MAX = 8 }; /* at most */

/* What a model's functions are told of a task. Good until they return. */
typedef struct consort_model_ask consort_model_ask;
struct consort_model_ask {
  uint32_t size, naccess;
  const char *codelet;
  const char *klass, *arch;       /* of the unit; COMMON: "" */
  uint32_t worker;                /* CONSORT_NONE: any of that kind */
  uint32_t impl;                  /* its place in consort_codelet.impls */
  uint64_t bytes;                 /* of its data, each counted once */
  uint64_t footprint, work;       /* its size class; as the task was submitted, 0 unknown */
  const consort_access *access;   /* its data */
  uint32_t (*sizes)(const consort_model_ask *, uint32_t datum, uint64_t *out, uint32_t max); /* elements of its how-manieth datum along each dimension, the fastest first; how many dimensions, 0: its layout does not say */
};
/* [any] thread, maybe several at once; quick, and the same answer for the same question. They call nothing of the runtime. */
typedef double consort_model_cost_fn(void *user, const consort_model_ask *ask);         /* ns or µJ; NaN: unknown */
typedef uint64_t consort_model_footprint_fn(void *user, const consort_model_ask *ask);  /* ask->klass "", worker and impl NONE */
typedef void consort_model_measure_fn(void *user, const consort_model_ask *ask, double *out); /* as many as `nmeasures` says, for curves; ask as for a footprint; NaN: unknown */

typedef struct consort_model_factor { const char *klass; double factor; } consort_model_factor;
CONSORT_FROZEN(consort_model_factor, 16);
typedef struct consort_model {
  uint32_t size, kind;
  const char *name;               /* what the codelet's tasks are called in the models; codelets that give one name share it. NULL: the codelet's name */
  consort_model_footprint_fn *footprint; /* tasks of which size are alike; NULL: their data's sizes, and their `work` */
  consort_model_cost_fn *cost;    /* COMMON, PER_CLASS, PER_WORKER */
  void *user;
  const consort_model_factor *factors; /* COMMON; copied, a class that is not named has 1 */
  uint32_t nfactors, reserved;
  consort_model_measure_fn *measure; /* what curves go by; NULL: the bytes of a task's data */
  const double *exponents;        /* TERMS: a row of `nmeasures` for each; copied */
  uint32_t nmeasures, nterms;     /* 0 measures: 1 */
} consort_model;
#define CONSORT_MODEL_INIT {sizeof(consort_model), CONSORT_MODEL_HISTORY, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, 0}

/* From here on, also for tasks that wait already. Its functions and `user` must live as long as the codelet. NULL: as at first. */
CONSORT_API consort_status consort_codelet_set_model(consort_runtime *rt, consort_codelet_id codelet, uint32_t what, const consort_model *model);

/* What this task would take on that worker, or by that team (its id follows those of the workers), by implementation `impl` (NONE: the best that can run there). It is not submitted.
 * AGAIN: nothing is known yet. E_UNSUPPORTED: it cannot run there. */
CONSORT_API consort_status consort_expected(consort_runtime *rt, const consort_task_desc *task, uint32_t worker, uint32_t impl, uint32_t what, double *out);
/* A measurement that somebody else has made, beside the runtime's own: energies, a run elsewhere. Codelets without a model of that
 * kind get a history. */
CONSORT_API consort_status consort_model_feed(consort_runtime *rt, const consort_task_desc *task, uint32_t worker, uint32_t impl, uint32_t what, double value);

/* What is known of one codelet's tasks of one size, on one kind of unit, by one implementation. */
typedef struct consort_model_row {
  uint32_t size, what;
  const char *name;               /* of the model */
  const char *klass, *arch, *impl;
  uint32_t impl_number, used;     /* used: measurements that the figures are made of */
  uint64_t footprint, bytes;
  uint64_t count;                 /* measurements in all */
  uint64_t outliers;              /* of these, set apart */
  double median, spread;          /* spread: as a standard deviation is, but not moved by what lies far away; NaN: nothing was measured */
  double told;                    /* by the driver, of its own accord; NaN */
  double expected;                /* what schedulers are told; NaN: too little is known */
} consort_model_row;
/* Of a codelet, or (null) of all that have a model. The strings are good until `each` returns; it calls nothing of the runtime. */
CONSORT_API consort_status consort_model_rows(consort_runtime *rt, consort_codelet_id codelet, void (*each)(void *user, const consort_model_row *row), void *user);

/* A curve through the sizes of one kind of unit and implementation. */
typedef struct consort_model_curve {
  uint32_t size, what, kind;      /* kind: CONSORT_MODEL_LINEAR to TERMS */
  uint32_t impl_number;
  const char *name, *klass, *arch, *impl;
  uint32_t points, nterms;        /* sizes that it goes through */
  double factors[CONSORT_MODEL_TERMS_MAX]; /* a, or one for each term */
  double exponent, constant;      /* b, where it was found; c */
  double error;                   /* half of the sizes lie no further from it: 0.05 is 5 % */
  double low, high;               /* of the first measure: between them it was measured */
} consort_model_curve;
/* Those that there are so far; else as consort_model_rows(). */
CONSORT_API consort_status consort_model_curves(consort_runtime *rt, consort_codelet_id codelet, void (*each)(void *user, const consort_model_curve *curve), void *user);
/* Through any points, by one measure: LINEAR, POWER or POWER_OFFSET. AGAIN: they are too few, or too close together. */
CONSORT_API consort_status consort_fit(uint32_t kind, const double *x, const double *y, uint32_t n, consort_model_curve *out);
CONSORT_API double consort_curve_at(const consort_model_curve *curve, double x); /* NaN: too far from what was measured; not of TERMS */

/* -- tools: what is kept on this machine ---------------------------------------------------------------- */

/* A file that a model is kept in. Strings are good until `file` returns. */
typedef struct consort_model_file {
  uint32_t size, what;
  const char *path;
  const char *machine, *name;     /* that it was measured on; of the model. "": unknown */
  const char *reason;             /* why it cannot be read; "" where it can */
  uint32_t rows, here;            /* here: of this machine; no other reads it */
} consort_model_file;
/* Files in order of their names, each followed by its rows (`row` may be NULL; told is NaN, expected the median). The folder
 * is that of the settings (`model_folder`). */
CONSORT_API consort_status consort_list_models(const consort_settings *settings, void (*file)(void *user, const consort_model_file *file),
                                               void (*row)(void *user, const consort_model_row *row), void *user);
/* Keeps figures that were not measured here, for tasks of that name: from the next start on they are told by bytes of data, on any unit of
 * their class, until enough was measured. Of a row count: `klass`, `impl_number` (0: that class's first), `bytes`, `count`, `median`, `spread`.
 * What was kept so before is replaced, what was measured is not; no rows: forgotten. path: where, if it has room. */
CONSORT_API consort_status consort_keep_model(const consort_settings *settings, const char *name, uint32_t what, const consort_model_row *rows, uint32_t n,
                                              char *path, size_t room);

#ifdef __cplusplus
}
#endif
#endif
