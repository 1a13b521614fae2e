/* What the examples in C need and none is about: a call that must work, a codelet of one function for the CPU, a task of
 * some data. For main() alone, on its thread; a failed call ends the program with its words and 1. */
#pragma once
#include <consort/consort.h>

#include <stdio.h>
#include <stdlib.h>

static inline void check(consort_status status, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "WRONG: %s: %s: %s\n", what, consort_status_name(status), consort_error());
  exit(1);
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
