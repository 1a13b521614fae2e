/* consort/model.h — performance models: expected time and energy of tasks, and the measurements behind them.
 * The application's side, C11; not included by consort.h; its rules hold.
 *
 * All calls are optional. Once a scheduler queries expected times, each codelet has a history model: its tasks are measured, and
 * the expected time is the median of earlier tasks of the same size (footprint), kind of unit and implementation. A codelet that gets a
 * model here is measured from then on, with any scheduler. */
#ifndef CONSORT_MODEL_H
#define CONSORT_MODEL_H
#include "consort.h"
#include "scheduler.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { CONSORT_MODEL_TIME, CONSORT_MODEL_ENERGY }; /* `what`: ns of a task's run, and µJ */
enum { /* consort_model.kind */
  CONSORT_MODEL_NONE = 0,         /* neither measured nor predicted */
  CONSORT_MODEL_HISTORY = 1,      /* measured, by size */
  CONSORT_MODEL_COMMON = 2,       /* one `cost`, times the factor of the unit's class */
  CONSORT_MODEL_PER_CLASS = 3,    /* `cost`, called once for each kind of unit */
  CONSORT_MODEL_PER_WORKER = 4,   /* `cost`, called for each worker */
  /* Histories with a regression: a size with too few measurements gets the value of a curve through other sizes, within limits. x: `measure` */
  CONSORT_MODEL_LINEAR = 5,       /* a x + c */
  CONSORT_MODEL_POWER = 6,        /* a x^b */
  CONSORT_MODEL_POWER_OFFSET = 7, /* a x^b + c, c not negative */
  CONSORT_MODEL_TERMS = 8         /* a sum of terms, each a factor times measures to the power of `exponents`, and a constant */
};
enum { CONSORT_MODEL_MEASURES = 4, CONSORT_MODEL_TERMS_MAX = 8 }; /* upper limits */

/* Description of a task for a model's functions. Valid until the function returns. */
typedef struct consort_model_ask consort_model_ask;
struct consort_model_ask {
  uint32_t size, naccess;
  const char *codelet;
  const char *klass, *arch;       /* of the unit; COMMON: "" */
  uint32_t worker;                /* CONSORT_NONE: any worker of that kind */
  uint32_t impl;                  /* index in consort_codelet.impls */
  uint64_t bytes;                 /* of its data, each counted once */
  uint64_t footprint, work;       /* size class; work as submitted, 0 unknown */
  const consort_access *access;   /* its data */
  /* writes the sizes of a datum along each dimension, fastest first; returns the number of dimensions, 0: unknown */
  uint32_t (*sizes)(const consort_model_ask *, uint32_t datum, uint64_t *out, uint32_t max);
};
/* [any] Called on any thread, possibly several at a time. They must be fast, deterministic, and call no function of the runtime. */
typedef double consort_model_cost_fn(void *user, const consort_model_ask *ask);         /* ns or µJ; NaN: unknown */
typedef uint64_t consort_model_footprint_fn(void *user, const consort_model_ask *ask);  /* ask->klass "", worker and impl NONE */
typedef void consort_model_measure_fn(void *user, const consort_model_ask *ask, double *out); /* writes `nmeasures` measures, for curves; ask as for a footprint; NaN: unknown */

typedef struct consort_model_factor { const char *klass; double factor; } consort_model_factor;
CONSORT_FROZEN(consort_model_factor, 16);
typedef struct consort_model {
  uint32_t size, kind;
  const char *name;               /* name of the model; codelets with equal names share it. NULL: the codelet's name */
  consort_model_footprint_fn *footprint; /* size class of a task; NULL: derived from the sizes of its data and `work` */
  consort_model_cost_fn *cost;    /* COMMON, PER_CLASS, PER_WORKER */
  void *user;
  const consort_model_factor *factors; /* COMMON; copied; the default factor is 1 */
  uint32_t nfactors, reserved;
  consort_model_measure_fn *measure; /* independent variables of curves; NULL: the bytes of a task's data */
  const double *exponents;        /* TERMS: a row of `nmeasures` for each; copied */
  uint32_t nmeasures, nterms;     /* 0 measures: 1 */
} consort_model;
#define CONSORT_MODEL_INIT {sizeof(consort_model), CONSORT_MODEL_HISTORY, NULL, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, 0, 0}

/* Sets the model, also for tasks that are pending. Its functions and `user` must live as long as the codelet. NULL: the default. */
CONSORT_API consort_status consort_codelet_set_model(consort_runtime *rt, consort_codelet_id codelet, uint32_t what, const consort_model *model);

/* Returns the expected value for this task on that worker or team (ids of teams follow those of the workers), by implementation `impl`
 * (NONE: the best that can run there). The task is not submitted. AGAIN: unknown. E_UNSUPPORTED: it cannot run there. */
CONSORT_API consort_status consort_expected(consort_runtime *rt, const consort_task_desc *task, uint32_t worker, uint32_t impl, uint32_t what, double *out);
/* Adds an external measurement: energy, or a run elsewhere. A codelet without a model of that kind gets a history. */
CONSORT_API consort_status consort_model_feed(consort_runtime *rt, const consort_task_desc *task, uint32_t worker, uint32_t impl, uint32_t what, double value);

/* Statistics of one codelet's tasks of one size, on one kind of unit, by one implementation. */
typedef struct consort_model_row {
  uint32_t size, what;
  const char *name;               /* of the model */
  const char *klass, *arch, *impl;
  uint32_t impl_number, used;     /* used: measurements behind the figures */
  uint64_t footprint, bytes;
  uint64_t count;                 /* measurements in all */
  uint64_t outliers;              /* of these, excluded */
  double median, spread;          /* spread: robust standard deviation, not affected by outliers; NaN: nothing was measured */
  double told;                    /* predicted by the driver; NaN: not predicted */
  double expected;                /* value that schedulers get; NaN: too few measurements */
} consort_model_row;
/* Calls `each` for the rows of a codelet, or (null) of all that have a model. Strings are valid until `each` returns; `each` must call no
 * function of the runtime. */
CONSORT_API consort_status consort_model_rows(consort_runtime *rt, consort_codelet_id codelet, void (*each)(void *user, const consort_model_row *row), void *user);

/* A curve through the sizes of one kind of unit and implementation. */
typedef struct consort_model_curve {
  uint32_t size, what, kind;      /* kind: CONSORT_MODEL_LINEAR to TERMS */
  uint32_t impl_number;
  const char *name, *klass, *arch, *impl;
  uint32_t points, nterms;        /* number of fitted sizes */
  double factors[CONSORT_MODEL_TERMS_MAX]; /* a, or one for each term */
  double exponent, constant;      /* b, if fitted; c */
  double error;                   /* median relative error over the sizes: 0.05 is 5 % */
  double low, high;               /* measured range of the first measure */
} consort_model_curve;
/* Calls `each` for the curves that exist so far; else as consort_model_rows(). */
CONSORT_API consort_status consort_model_curves(consort_runtime *rt, consort_codelet_id codelet, void (*each)(void *user, const consort_model_curve *curve), void *user);
/* Fits a curve through any points, by one measure: LINEAR, POWER or POWER_OFFSET. AGAIN: too few points, or too close together. */
CONSORT_API consort_status consort_fit(uint32_t kind, const double *x, const double *y, uint32_t n, consort_model_curve *out);
CONSORT_API double consort_curve_at(const consort_model_curve *curve, double x); /* NaN: too far outside the measured range; not for TERMS */

/* -- tools: models stored on this machine --------------------------------------------------------------- */

/* A file that stores a model. Strings are valid until `file` returns. */
typedef struct consort_model_file {
  uint32_t size, what;
  const char *path;
  const char *machine, *name;     /* where it was measured; name of the model. "": unknown */
  const char *reason;             /* why it cannot be read; "" if it can */
  uint32_t rows, here;            /* here: measured on this machine; files of other machines are not used */
} consort_model_file;
/* Calls `file` for the files in order of their names, each followed by its rows (`row` may be NULL; told is NaN, expected the median).
 * The setting `model_folder` names the folder. */
CONSORT_API consort_status consort_list_models(const consort_settings *settings, void (*file)(void *user, const consort_model_file *file),
                                               void (*row)(void *user, const consort_model_row *row), void *user);
/* Stores figures that were not measured here, for tasks of that name. From the next start on they predict by bytes of data, on any unit
 * of their class, until there are enough measurements. Fields used of a row: `klass`, `impl_number` (0: that class's first), `bytes`,
 * `count`, `median`, `spread`. Replaces figures stored so before, not measurements; without rows it deletes them. Writes the file's path
 * to `path` if it has room. */
CONSORT_API consort_status consort_keep_model(const consort_settings *settings, const char *name, uint32_t what, const consort_model_row *rows, uint32_t n,
                                              char *path, size_t room);

#ifdef __cplusplus
}
#endif
#endif
