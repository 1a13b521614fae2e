/* What the examples in C need and none is about: a call that must work, a codelet of one function for the CPU, a task of
 * some data. For main() alone, on its thread; a failed call ends the program with its words and 1. */
#pragma once
#include <consort/consort.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check(consort_status status, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "WRONG: %s: %s: %s\n", what, consort_status_name(status), consort_error());
  exit(1);
}

/* `consort sim` lets kernels take time and runs none of them, unless it is told to: then no result is looked at. */
static inline int is_nothing_computed(void) {
  const char *execute = getenv("CONSORT_SIM__EXECUTE");
  if (!execute || strcmp(execute, "false")) return 0;
  puts("simulated: no task was run, so no result is looked at (consort sim --execute runs them)");
  return 1;
}

static inline consort_codelet_id codelet(consort_runtime *rt, const char *name, consort_call_fn *fn) {
  const consort_impl impl = {.klass = "cpu", .fn = fn};
  consort_codelet desc = CONSORT_CODELET_INIT;
  consort_codelet_id id;
  desc.name = name;
  desc.impls = &impl;
  desc.nimpls = 1;
  check(consort_codelet_add(rt, &desc, &id), name);
  return id;
}

static inline void submit(consort_runtime *rt, consort_codelet_id what, const consort_use *uses, uint32_t n) {
  consort_task_desc task = CONSORT_TASK_INIT;
  task.codelet = what;
  task.uses = uses;
  task.nuses = n;
  check(consort_submit(rt, &task, NULL), "submit");
}
