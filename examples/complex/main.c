/* complex — data of a layout of one's own: complex numbers in two arrays. A product of the program's numbers and of some
 * that the runtime has the memory of, displayed by a task, and compared with a loop.   complex [NUMBERS [ROUNDS]] */
#include "complex.h"
#include "example.h"

#include <stdio.h>
#include <stdlib.h>

static consort_status fill(const consort_call *call) { /* W: number i becomes cos i + i sin i, without the functions */
  const complex_view *v = call->views[0];
  double *re = consort_ptr(v->re), *im = consort_ptr(v->im), c = 1, s = 0;
  for (uint64_t i = 0; i < v->n; i++) {
    const double next = c * 0.8 - s * 0.6;
    re[i] = c, im[i] = s;
    s = c * 0.6 + s * 0.8, c = next;
  }
  return CONSORT_OK;
}

static consort_status multiply(const consort_call *call) { /* RW, R: a *= b */
  const complex_view *a = call->views[0], *b = call->views[1];
  double *re = consort_ptr(a->re), *im = consort_ptr(a->im);
  const double *x = consort_ptr(b->re), *y = consort_ptr(b->im);
  if (a->n != b->n) return consort_fail(CONSORT_E_INVAL, "multiply wants as many numbers on both sides");
  for (uint64_t i = 0; i < a->n; i++) {
    const double r = re[i] * x[i] - im[i] * y[i];
    im[i] = re[i] * y[i] + im[i] * x[i];
    re[i] = r;
  }
  return CONSORT_OK;
}

static consort_status display(const consort_call *call) { /* R */
  const complex_view *v = call->views[0];
  const double *re = consort_ptr(v->re), *im = consort_ptr(v->im);
  printf("%llu numbers:", (unsigned long long)v->n);
  for (uint64_t i = 0; i < v->n && i < 4; i++) printf(" %.3f%+.3fi", re[i], im[i]);
  puts(v->n > 4 ? " ..." : "");
  return CONSORT_OK;
}

static consort_data_id numbers(consort_runtime *rt, double *re, double *im, uint64_t n, const char *name) {
  const complex_args a = {re, im, n};
  const consort_data_desc desc = {.size = sizeof desc, .interface = "complex", .args = &a, .args_bytes = sizeof a, .name = name};
  consort_data_id id;
  check(consort_register(rt, &desc, &id), name);
  return id;
}

int main(int argc, char **argv) {
  const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  const uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 5;
  if (n == 0 || rounds == 0) return fputs("usage: complex [NUMBERS [ROUNDS]], neither of them 0\n", stderr), 2;
  double *re = malloc(n * sizeof *re), *im = malloc(n * sizeof *im);
  if (!re || !im) return fputs("complex: out of memory; ask for fewer numbers\n", stderr), 1;
  for (uint64_t i = 0; i < n; i++) re[i] = 1, im[i] = 1;

  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.text = "plugin_path = '" EXAMPLE_PLUGIN_DIR "'\n"; /* an installed plugin is found without */
  consort_runtime *rt;
  check(consort_start(&settings, &rt), "start");
  const consort_codelet_id fills = codelet(rt, "fill", fill), multiplies = codelet(rt, "multiply", multiply),
                           displays = codelet(rt, "display", display);
  const consort_data_id a = numbers(rt, re, im, n, "a"), b = numbers(rt, NULL, NULL, n, "b");
  submit(rt, fills, &(consort_use){b, CONSORT_M_W, 0}, 1);
  submit(rt, displays, &(consort_use){b, CONSORT_M_R, 0}, 1);
  for (uint64_t i = 0; i < rounds; i++)
    submit(rt, multiplies, (consort_use[]){{a, CONSORT_M_RW, 0}, {b, CONSORT_M_R, 0}}, 2);
  check(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  submit(rt, displays, &(consort_use){a, CONSORT_M_R, 0}, 1);
  check(consort_unregister(rt, a), "unregister a");
  check(consort_unregister(rt, b), "unregister b");
  check(consort_stop(rt), "stop");

  double c = 1, s = 0; /* number i of b */
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < n; i++) {
    double x = 1, y = 1;
    for (uint64_t k = 0; k < rounds; k++) {
      const double r = x * c - y * s;
      y = x * s + y * c;
      x = r;
    }
    const double dx = x - re[i], dy = y - im[i];
    wrong += !(dx * dx + dy * dy < 1e-24);
    const double next = c * 0.8 - s * 0.6;
    s = c * 0.6 + s * 0.8, c = next;
  }
  if (is_nothing_computed()) wrong = 0;
  else printf("complex: %llu numbers, %llu products, %llu wrong\n", (unsigned long long)n, (unsigned long long)rounds,
              (unsigned long long)wrong);
  free(re);
  free(im);
  return wrong != 0;
}
