/* block_list — a matrix that is compressed by levels, as one datum: A(i, j) = exp(-|i - j| / n). Beside the diagonal a
 * block of it has rank one, so a block is two vectors; only four squares on the diagonal are kept whole. Ten blocks of
 * three sizes, of which tasks know that they are one matrix: it is assembled, applied to vectors, and compared with the
 * plain one.   block_list [N [VECTORS]] */
#include "block_list.h"
#include "example.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The blocks, for n = 4 m: squares 0..3 of the diagonal (m * m); then for each of the pairs below, rows [row, row + size)
 * times columns [row + size, row + 2 size), a vector of the rows and one of the columns. The matrix is symmetric. */
enum { SQUARES = 4, PAIRS = 3, BLOCKS = SQUARES + 2 * PAIRS };
typedef struct pair { uint64_t row, size; } pair;
static pair pair_of(uint64_t m, int k) { return k == 0 ? (pair){0, 2 * m} : (pair){k == 1 ? 0 : 2 * m, m}; }

static double entry(uint64_t i, uint64_t j, uint64_t n) { return exp(-fabs((double)i - (double)j) / (double)n); }

static uint64_t quarter(const block_list_view *a) { return a->n[SQUARES + 2]; }

static consort_status assemble(const consort_call *call) { /* W: a */
  const block_list_view *a = call->views[0];
  const uint64_t m = quarter(a), n = 4 * m;
  for (uint64_t s = 0; s < SQUARES; s++) {
    double *e = consort_ptr(a->at[s]);
    for (uint64_t i = 0; i < m; i++)
      for (uint64_t j = 0; j < m; j++) e[i * m + j] = entry(s * m + i, s * m + j, n);
  }
  for (int k = 0; k < PAIRS; k++) { /* exp((i - j) / n) is a product: split where rows and columns meet */
    const pair p = pair_of(m, k);
    double *u = consort_ptr(a->at[SQUARES + 2 * k]), *v = consort_ptr(a->at[SQUARES + 2 * k + 1]);
    for (uint64_t i = 0; i < p.size; i++) {
      u[i] = entry(p.row + i, p.row + p.size, n);
      v[i] = entry(p.row + p.size, p.row + p.size + i, n);
    }
  }
  return CONSORT_OK;
}

static consort_status apply(const consort_call *call) { /* R: a, R: x, W: y; y = a x */
  const block_list_view *a = call->views[0];
  const consort_vector_view *vx = call->views[1], *vy = call->views[2];
  const uint64_t m = quarter(a);
  const double *x = consort_ptr(vx->addr);
  double *y = consort_ptr(vy->addr);
  if (vx->n != 4 * m || vy->n != 4 * m) return consort_fail(CONSORT_E_INVAL, "apply wants vectors as long as the matrix");
  for (uint64_t s = 0; s < SQUARES; s++) {
    const double *e = consort_ptr(a->at[s]);
    for (uint64_t i = 0; i < m; i++) {
      double sum = 0;
      for (uint64_t j = 0; j < m; j++) sum += e[i * m + j] * x[s * m + j];
      y[s * m + i] = sum;
    }
  }
  for (int k = 0; k < PAIRS; k++) {
    const pair p = pair_of(m, k);
    const double *u = consort_ptr(a->at[SQUARES + 2 * k]), *v = consort_ptr(a->at[SQUARES + 2 * k + 1]);
    double right = 0, left = 0;
    for (uint64_t i = 0; i < p.size; i++) {
      right += v[i] * x[p.row + p.size + i];
      left += u[i] * x[p.row + i];
    }
    for (uint64_t i = 0; i < p.size; i++) {
      y[p.row + i] += u[i] * right;
      y[p.row + p.size + i] += v[i] * left;
    }
  }
  return CONSORT_OK;
}


int main(int argc, char **argv) {
  const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 512, m = n / 4;
  const uint64_t vectors = argc > 2 ? strtoull(argv[2], NULL, 10) : 8;
  if (m == 0 || n % 4 || n > 65536 || vectors == 0)
    return fputs("usage: block_list [N [VECTORS]], N a multiple of 4 up to 65536, neither of them 0\n", stderr), 2;
  double *x = malloc(n * vectors * sizeof *x), *y = malloc(n * vectors * sizeof *y);
  consort_data_id *data = malloc(2 * vectors * sizeof *data);
  if (!x || !y || !data) return fputs("block_list: out of memory; ask for fewer vectors\n", stderr), 1;
  for (uint64_t i = 0; i < n * vectors; i++) x[i] = (double)(i * 7 % 11) - 5;

  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.text = "plugin_path = '" EXAMPLE_PLUGIN_DIR "'\n"; /* an installed plugin is found without */
  consort_runtime *rt;
  check(consort_start(&settings, &rt), "start");
  const consort_codelet_id assembles = codelet(rt, "assemble", assemble), applies = codelet(rt, "apply", apply);

  block_list_args list = {BLOCKS, {0}, {NULL}}; /* without a home: the runtime allocates the ten blocks */
  uint64_t kept = 0;
  for (int i = 0; i < BLOCKS; i++) {
    list.n[i] = (uint32_t)(i < SQUARES ? m * m : pair_of(m, (i - SQUARES) / 2).size);
    kept += list.n[i];
  }
  const consort_data_desc desc = {.size = sizeof desc, .interface = "block_list", .args = &list, .args_bytes = sizeof list, .name = "A"};
  consort_data_id a;
  check(consort_register(rt, &desc, &a), "register A");
  submit(rt, assembles, &(consort_use){a, CONSORT_M_W, 0}, 1);
  for (uint64_t v = 0; v < vectors; v++) {
    consort_data_id *in = &data[2 * v], *out = in + 1;
    check(consort_register_vector(rt, x + v * n, n, sizeof *x, in), "register x");
    check(consort_register_vector(rt, y + v * n, n, sizeof *y, out), "register y");
    submit(rt, applies, (consort_use[]){{a, CONSORT_M_R, 0}, {*in, CONSORT_M_R, 0}, {*out, CONSORT_M_W, 0}}, 3);
  }
  check(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  for (uint64_t v = 0; v < 2 * vectors; v++) check(consort_unregister(rt, data[v]), "unregister");
  check(consort_unregister(rt, a), "unregister A");
  check(consort_stop(rt), "stop");

  double worst = 0;
  for (uint64_t v = 0; v < vectors; v++)
    for (uint64_t i = 0; i < n; i++) {
      double sum = 0;
      for (uint64_t j = 0; j < n; j++) sum += entry(i, j, n) * x[v * n + j];
      const double off = fabs(sum - y[v * n + i]) / (double)n;
      if (!(off <= worst)) worst = off;
    }
  if (is_nothing_computed()) worst = 0;
  else printf("block_list: %llu x %llu numbers kept as %llu, %llu products, largest error %.1e\n", (unsigned long long)n,
              (unsigned long long)n, (unsigned long long)kept, (unsigned long long)vectors, worst);
  free(x);
  free(y);
  free(data);
  return !(worst < 1e-12);
}
