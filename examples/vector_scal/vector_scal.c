/* vector_scal — the C API: scales a vector piece by piece, each piece by several tasks, and checks every element.
 * vector_scal [PIECES [STEPS]] */
#include <consort/consort.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 1024 };

static consort_status scale(const consort_call *call) {
  const consort_vector_view *x = call->views[0];
  double *e = consort_ptr(x->addr), factor;
  if (call->args[0].bytes != sizeof factor) return consort_fail(CONSORT_E_INVAL, "scale takes one double");
  __builtin_memcpy(&factor, &call->args[0].scalar, sizeof factor);
  for (uint64_t i = 0; i < x->n; i++) e[i] *= factor;
  return CONSORT_OK;
}

static void check(consort_status status, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "vector_scal: %s: %s: %s\n", what, consort_status_name(status), consort_error());
  exit(1);
}

int main(int argc, char **argv) {
  const uint64_t pieces = argc > 1 ? strtoull(argv[1], NULL, 10) : 16,
                 steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 8;
  const uint64_t n = pieces * PIECE;
  double *v = malloc(n * sizeof *v + 1), expected = 1;
  consort_data_id *piece = malloc(pieces * sizeof *piece + 1);
  if (!v || !piece) return fprintf(stderr, "vector_scal: no memory for %llu pieces\n", (unsigned long long)pieces), 1;
  for (uint64_t i = 0; i < n; i++) v[i] = 1;

  consort_runtime *rt;
  check(consort_start(NULL, &rt), "start");
  const consort_impl impl = {"cpu", scale, NULL, NULL, NULL, NULL, NULL, 0};
  consort_codelet codelet = CONSORT_CODELET_INIT;
  codelet.name = "scale";
  codelet.impls = &impl;
  codelet.nimpls = 1;
  codelet.nmodes = 1;
  consort_codelet_id id;
  check(consort_codelet_add(rt, &codelet, &id), "codelet");
  for (uint64_t p = 0; p < pieces; p++)
    check(consort_register_vector(rt, v + p * PIECE, PIECE, sizeof *v, &piece[p]), "register");

  const double factor = 1.5;
  consort_arg arg = {CONSORT_ARG_SCALAR, sizeof factor, {0, 0}, 0, 0};
  __builtin_memcpy(&arg.scalar, &factor, sizeof factor);
  for (uint64_t s = 0; s < steps; s++, expected *= factor)
    for (uint64_t p = 0; p < pieces; p++) {
      const consort_use use = {piece[p], CONSORT_M_RW, 0};
      consort_task_desc task = CONSORT_TASK_INIT;
      task.codelet = id;
      task.uses = &use;
      task.nuses = 1;
      task.args = &arg;
      task.nargs = 1;
      check(consort_submit(rt, &task, NULL), "submit");
    }
  check(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  for (uint64_t p = 0; p < pieces; p++) check(consort_unregister(rt, piece[p]), "unregister");
  check(consort_stop(rt), "stop");

  for (uint64_t i = 0; i < n; i++)
    if (v[i] != expected)
      return fprintf(stderr, "vector_scal: element %llu is %g, should be %g\n", (unsigned long long)i, v[i], expected),
             1;
  printf("%llu elements, each %g\n", (unsigned long long)n, expected);
  free(piece);
  free(v);
  return 0;
}
