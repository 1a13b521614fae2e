/* Programs as a solver has them: tiles, panels, iterations. */
#include "check.h"
#include <math.h>

enum { NT = 6, B = 8, N = NT * B };
#define AT(p, ld, i, j) (p)[(j) * (ld) + (i)]
static double *tile(void *buffer) { return (double *)STARPU_MATRIX_GET_PTR(buffer); }
static unsigned ld(void *buffer) { return STARPU_MATRIX_GET_LD(buffer); }

static void potrf(void *b[], void *arg) {
  double *a = tile(b[0]);
  unsigned l = ld(b[0]), i, j, k;
  (void)arg;
  for (k = 0; k < B; k++) {
    AT(a, l, k, k) = sqrt(AT(a, l, k, k));
    for (i = k + 1; i < B; i++) AT(a, l, i, k) /= AT(a, l, k, k);
    for (j = k + 1; j < B; j++)
      for (i = j; i < B; i++) AT(a, l, i, j) -= AT(a, l, i, k) * AT(a, l, j, k);
  }
}
static void trsm(void *b[], void *arg) {
  double *a = tile(b[0]), *x = tile(b[1]);
  unsigned la = ld(b[0]), lx = ld(b[1]), i, j, k;
  (void)arg;
  for (j = 0; j < B; j++)
    for (i = 0; i < B; i++) {
      for (k = 0; k < j; k++) AT(x, lx, i, j) -= AT(x, lx, i, k) * AT(a, la, j, k);
      AT(x, lx, i, j) /= AT(a, la, j, j);
    }
}
static void gemm(void *b[], void *arg) {
  double *x = tile(b[0]), *y = tile(b[1]), *c = tile(b[2]);
  unsigned lx = ld(b[0]), ly = ld(b[1]), lc = ld(b[2]), i, j, k;
  (void)arg;
  for (j = 0; j < B; j++)
    for (k = 0; k < B; k++)
      for (i = 0; i < B; i++) AT(c, lc, i, j) -= AT(x, lx, i, k) * AT(y, ly, j, k);
}
static struct starpu_perfmodel gemm_model = {.type = STARPU_HISTORY_BASED, .symbol = "compat_gemm"};
static struct starpu_codelet potrf_cl = {.cpu_funcs = {potrf}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "potrf"};
static struct starpu_codelet trsm_cl = {.cpu_funcs = {trsm}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}, .name = "trsm"};
static struct starpu_codelet gemm_cl = {.cpu_funcs = {gemm}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_RW}, .model = &gemm_model, .name = "gemm"};

static void make(double *a) {
  int i, j;
  for (j = 0; j < N; j++)
    for (i = 0; i < N; i++) AT(a, N, i, j) = 1.0 / (1 + i + j) + (i == j ? N : 0);
}
static double residual(const double *l) {
  static double a[N * N];
  double worst = 0;
  int i, j, k;
  make(a);
  for (j = 0; j < N; j++)
    for (i = j; i < N; i++) {
      double s = 0;
      for (k = 0; k <= j; k++) s += AT(l, N, i, k) * AT(l, N, j, k);
      if (fabs(s - AT(a, N, i, j)) > worst) worst = fabs(s - AT(a, N, i, j));
    }
  return worst;
}
static void factorise(starpu_data_handle_t t[NT][NT], int priorities) {
  int i, j, k;
  for (k = 0; k < NT; k++) {
    const int high = priorities ? STARPU_MAX_PRIO : STARPU_DEFAULT_PRIO;
    if (starpu_task_insert(&potrf_cl, STARPU_PRIORITY, high, STARPU_RW, t[k][k], STARPU_NAME, "diagonal", 0)) abort();
    for (i = k + 1; i < NT; i++)
      if (starpu_task_insert(&trsm_cl, STARPU_R, t[k][k], STARPU_RW, t[i][k], STARPU_TAG_ONLY, (starpu_tag_t)(1000 * i + k), 0)) abort();
    for (j = k + 1; j < NT; j++)
      for (i = j; i < NT; i++)
        if (starpu_task_insert(&gemm_cl, STARPU_R, t[i][k], STARPU_R, t[j][k], STARPU_RW, t[i][j], STARPU_FLOPS, 2.0 * B * B * B, 0)) abort();
  }
}

static void tiles_case(const char *policy) {
  static double a[N * N];
  starpu_data_handle_t t[NT][NT];
  int i, j;
  make(a);
  start_with(2, policy);
  for (j = 0; j < NT; j++)
    for (i = j; i < NT; i++) starpu_matrix_data_register(&t[i][j], STARPU_MAIN_RAM, (uintptr_t)&AT(a, N, i * B, j * B), N, B, B, sizeof a[0]);
  factorise(t, 1);
  CHECK(starpu_task_wait_for_all() == 0);
  for (j = 0; j < NT; j++)
    for (i = j; i < NT; i++) starpu_data_unregister(t[i][j]);
  CHECK(residual(a) < 1e-9);
  CHECK(a[0] > 0);
  STOP();
}

PROGRAM(solver_tiles) {
  tiles_case("lws");
  tiles_case("prio");
  tiles_case("eager");
  tiles_case("dmdas");
}

PROGRAM(solver_partition) {
  static double a[N * N];
  struct starpu_data_filter cols = {.filter_func = starpu_matrix_filter_vertical_block, .nchildren = NT};
  struct starpu_data_filter rows = {.filter_func = starpu_matrix_filter_block, .nchildren = NT};
  starpu_data_handle_t whole, t[NT][NT];
  int i, j, round;
  START();
  for (round = 0; round < 3; round++) {
    make(a);
    starpu_matrix_data_register(&whole, STARPU_MAIN_RAM, (uintptr_t)a, N, N, N, sizeof a[0]);
    starpu_data_map_filters(whole, 2, &cols, &rows);
    for (j = 0; j < NT; j++)
      for (i = 0; i < NT; i++) t[i][j] = starpu_data_get_sub_data(whole, 2, j, i);
    CHECK(starpu_matrix_get_nx(t[1][2]) == B && starpu_matrix_get_ny(t[1][2]) == B);
    factorise(t, 0);
    starpu_data_unpartition(whole, STARPU_MAIN_RAM);
    CHECK(starpu_data_get_nb_children(whole) == 0);
    CHECK(starpu_data_acquire(whole, STARPU_R) == 0);
    CHECK(residual(a) < 1e-9);
    starpu_data_release(whole);
    starpu_data_unregister(whole);
  }
  STOP();
}

/* A conjugate gradient: vectors in pieces, dot products as reductions. */
enum { PIECES = 4, LENGTH = 64 };
static void zero(void *b[], void *arg) { (void)arg, *(double *)STARPU_VARIABLE_GET_PTR(b[0]) = 0; }
static void plus(void *b[], void *arg) {
  (void)arg;
  *(double *)STARPU_VARIABLE_GET_PTR(b[0]) += *(double *)STARPU_VARIABLE_GET_PTR(b[1]);
}
static void dot(void *b[], void *arg) {
  double *x = (double *)STARPU_VECTOR_GET_PTR(b[0]), *y = (double *)STARPU_VECTOR_GET_PTR(b[1]), s = 0;
  unsigned i;
  (void)arg;
  for (i = 0; i < STARPU_VECTOR_GET_NX(b[0]); i++) s += x[i] * y[i];
  *(double *)STARPU_VARIABLE_GET_PTR(b[2]) += s;
}
static void axpy(void *b[], void *arg) { /* x += alpha / beta * sign * y */
  double *x = (double *)STARPU_VECTOR_GET_PTR(b[0]), *y = (double *)STARPU_VECTOR_GET_PTR(b[1]);
  double f = *(double *)STARPU_VARIABLE_GET_PTR(b[2]) / *(double *)STARPU_VARIABLE_GET_PTR(b[3]), sign;
  unsigned i;
  starpu_codelet_unpack_args(arg, &sign, NULL);
  for (i = 0; i < STARPU_VECTOR_GET_NX(b[0]); i++) x[i] += sign * f * y[i];
}
static struct starpu_codelet zero_cl = {.cpu_funcs = {zero}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet plus_cl = {.cpu_funcs = {plus}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}};
static struct starpu_codelet dot_cl = {.cpu_funcs = {dot}, .nbuffers = 3, .modes = {STARPU_R, STARPU_R, STARPU_REDUX}};
static struct starpu_codelet axpy_cl = {.cpu_funcs = {axpy}, .nbuffers = 4, .modes = {STARPU_RW, STARPU_R, STARPU_R, STARPU_R}};

PROGRAM(solver_reductions) {
  static double x[LENGTH], y[LENGTH];
  struct starpu_data_filter f = {.filter_func = starpu_vector_filter_block, .nchildren = PIECES};
  double xy = 0, yy = 0, sign = -1, s = 0;
  starpu_data_handle_t hx, hy, hxy, hyy;
  int i, p;
  START();
  for (i = 0; i < LENGTH; i++) x[i] = i, y[i] = LENGTH - i;
  starpu_vector_data_register(&hx, STARPU_MAIN_RAM, (uintptr_t)x, LENGTH, sizeof x[0]);
  starpu_vector_data_register(&hy, STARPU_MAIN_RAM, (uintptr_t)y, LENGTH, sizeof y[0]);
  starpu_variable_data_register(&hxy, STARPU_MAIN_RAM, (uintptr_t)&xy, sizeof xy);
  starpu_variable_data_register(&hyy, STARPU_MAIN_RAM, (uintptr_t)&yy, sizeof yy);
  starpu_data_set_reduction_methods(hxy, &plus_cl, &zero_cl);
  starpu_data_set_reduction_methods(hyy, &plus_cl, &zero_cl);
  starpu_data_partition(hx, &f);
  starpu_data_partition(hy, &f);
  for (p = 0; p < PIECES; p++) {
    starpu_data_handle_t cx = starpu_data_get_child(hx, (unsigned)p), cy = starpu_data_get_child(hy, (unsigned)p);
    CHECK(starpu_task_insert(&dot_cl, STARPU_R, cx, STARPU_R, cy, STARPU_REDUX, hxy, 0) == 0);
    CHECK(starpu_task_insert(&dot_cl, STARPU_R, cy, STARPU_R, cy, STARPU_REDUX, hyy, 0) == 0);
  }
  /* x loses what it has along y */
  for (p = 0; p < PIECES; p++)
    CHECK(starpu_task_insert(&axpy_cl, STARPU_RW, starpu_data_get_child(hx, (unsigned)p), STARPU_R, starpu_data_get_child(hy, (unsigned)p),
                             STARPU_R, hxy, STARPU_R, hyy, STARPU_VALUE, &sign, sizeof sign, 0) == 0);
  starpu_data_unpartition(hx, STARPU_MAIN_RAM);
  starpu_data_unpartition(hy, STARPU_MAIN_RAM);
  starpu_data_unregister(hx);
  starpu_data_unregister(hy);
  starpu_data_unregister(hxy);
  starpu_data_unregister(hyy);
  for (i = 0; i < LENGTH; i++) s += x[i] * y[i];
  CHECK(fabs(s) < 1e-6);
  CHECK(xy == 43680);
  STOP();
}
