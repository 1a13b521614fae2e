/* multiformat — C: one datum in two layouts. Points are structs on cores, as the program has them, and two lines of
 * numbers on devices, where neighbours then read neighbours: OpenCL's, and those of class "gpu", which run functions
 * (driver sim plays some). Steps go round all workers; contents are converted where a step wants them in the other
 * layout, by codelets of the program, on the devices or back on a core. Prints how often.
 *                                                                     multiformat [POINTS [PIECES [STEPS]]] */
#include "../example.h"

typedef struct point { float x, v; } point;

/* A step, of either view: x += v, then v = 1 - v. */
static void step(float *x, float *v) {
  *x += *v;
  *v = 1 - *v;
}
static consort_status step_points(const consort_call *call) {
  const consort_vector_view *points = call->views[0];
  point *p = consort_ptr(points->addr);
  for (uint64_t i = 0; i < points->n; i++) step(&p[i].x, &p[i].v);
  return CONSORT_OK;
}
static consort_status step_lines(const consort_call *call) {
  const consort_matrix_view *lines = call->views[0];
  float *x = consort_ptr(lines->addr), *v = x + lines->ld;
  for (uint64_t i = 0; i < lines->nx; i++) step(&x[i], &v[i]);
  return CONSORT_OK;
}
/* Conversions: the source, then the target. */
static consort_status apart(const consort_call *call) {
  const consort_vector_view *points = call->views[0];
  const consort_matrix_view *lines = call->views[1];
  const point *p = consort_ptr(points->addr);
  float *x = consort_ptr(lines->addr), *v = x + lines->ld;
  for (uint64_t i = 0; i < points->n; i++) x[i] = p[i].x, v[i] = p[i].v;
  return CONSORT_OK;
}
static consort_status together(const consort_call *call) {
  const consort_matrix_view *lines = call->views[0];
  const consort_vector_view *points = call->views[1];
  const float *x = consort_ptr(lines->addr), *v = x + lines->ld;
  point *p = consort_ptr(points->addr);
  for (uint64_t i = 0; i < points->n; i++) p[i] = (point){x[i], v[i]};
  return CONSORT_OK;
}
/* The same for OpenCL devices, with a work item for each number of the lines. */
static const char text[] =
    "__kernel void advance(__global float *x, ulong n, ulong lines, ulong ld) {\n"
    "  size_t i = get_global_id(0);\n"
    "  if (get_global_id(1) == 0) { x[i] += x[ld + i]; x[ld + i] = 1 - x[ld + i]; }\n"
    "}\n"
    "__kernel void apart(__global const float *p, ulong n, __global float *x, ulong nx, ulong lines, ulong ld) {\n"
    "  x[get_global_id(1) * ld + get_global_id(0)] = p[2 * get_global_id(0) + get_global_id(1)];\n"
    "}\n"
    "__kernel void together(__global const float *x, ulong nx, ulong lines, ulong ld, __global float *p, ulong n) {\n"
    "  p[2 * get_global_id(0) + get_global_id(1)] = x[get_global_id(1) * ld + get_global_id(0)];\n"
    "}\n";

/* core: NULL for none. lines: which of its data the lines are. */
static consort_codelet_id make(consort_runtime *rt, const char *name, consort_call_fn *core, consort_call_fn *device,
                               uint32_t lines) {
  consort_portable how = CONSORT_PORTABLE_INIT;
  how.over = lines;
  const consort_impl impls[] = {{.klass = "gpu", .fn = device},
                                {.klass = "opencl", .format = "cl", .text = text, .entry = name, .user = &how},
                                {.klass = "cpu", .fn = core}};
  consort_codelet codelet = CONSORT_CODELET_INIT;
  consort_codelet_id id;
  codelet.name = name;
  codelet.flags = CONSORT_CL_STATS;
  codelet.impls = impls;
  codelet.nimpls = core ? 3 : 2;
  check(consort_codelet_add(rt, &codelet, &id), name);
  return id;
}

static uint64_t runs(consort_runtime *rt, consort_codelet_id id, uint32_t workers) {
  uint64_t *by = malloc(workers * sizeof *by), n = 0;
  if (!by) return 0;
  check(consort_codelet_stats(rt, id, by, workers), "stats");
  for (uint32_t w = 0; w < workers; w++) n += by[w];
  free(by);
  return n;
}

/* The workers that "advance" has a function for: a machine may have units of other classes, too. */
static uint32_t able_workers(consort_runtime *rt, uint32_t workers, uint32_t *able) {
  uint32_t n = 0;
  for (uint32_t w = 0; w < workers; w++) {
    consort_worker_info info = {.size = sizeof info};
    check(consort_get_worker(rt, w, &info), "worker");
    if (!strcmp(info.klass, "cpu") || !strcmp(info.klass, "opencl") || !strcmp(info.klass, "gpu")) able[n++] = w;
  }
  return n;
}

int main(int argc, char **argv) {
  const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
  const uint64_t pieces = argc > 2 ? strtoull(argv[2], NULL, 10) : 8, steps = argc > 3 ? strtoull(argv[3], NULL, 10) : 12;
  if (!n || !pieces || pieces > n || !steps)
    return fputs("usage: multiformat [POINTS [PIECES [STEPS]]], none of them 0, no more pieces than points\n", stderr), 2;
  point *p = malloc(n * sizeof *p);
  consort_data_id *piece = malloc(pieces * sizeof *piece);
  if (!p || !piece) return fputs("multiformat: out of memory; ask for fewer points\n", stderr), 1;
  for (uint64_t i = 0; i < n; i++) p[i] = (point){(float)(i % 1000), (float)(i % 7)};

  consort_runtime *rt;
  consort_info info = {.size = sizeof info};
  check(consort_start(NULL, &rt), "start");
  check(consort_get_info(rt, &info), "info");
  uint32_t *able = malloc(info.nworkers * sizeof *able);
  const uint32_t nable = able ? able_workers(rt, info.nworkers, able) : 0;
  if (!nable) return fputs("multiformat: no worker of class cpu, opencl or gpu, or no memory\n", stderr), 1;
  const consort_codelet_id go = make(rt, "advance", step_points, step_lines, 0),
                           to = make(rt, "apart", NULL, apart, 1),  /* on the side that wants it */
                           from = make(rt, "together", together, together, 0);
  for (uint64_t k = 0; k < pieces; k++) {
    const uint64_t begin = n * k / pieces, length = n * (k + 1) / pieces - begin;
    check(consort_register_vector(rt, p + begin, length, sizeof *p, &piece[k]), "register");
    const consort_matrix_args lines = {NULL, length, 2, 0, sizeof(float)};
    consort_format_desc format = {sizeof format, 0, "opencl", "matrix", &lines, sizeof lines, to, from};
    check(consort_data_add_format(rt, piece[k], &format), "format");
    format.klass = "gpu";
    check(consort_data_add_format(rt, piece[k], &format), "format");
  }
  for (uint64_t s = 0; s < steps; s++)
    for (uint64_t k = 0; k < pieces; k++) {
      const consort_use use = {piece[k], CONSORT_M_RW, 0};
      consort_task_desc task = CONSORT_TASK_INIT;
      task.codelet = go;
      task.uses = &use;
      task.nuses = 1;
      task.worker = able[(s + k) % nable];
      check(consort_submit(rt, &task, NULL), "submit");
    }
  for (uint64_t k = 0; k < pieces; k++) check(consort_unregister(rt, piece[k]), "unregister"); /* structs again */
  check(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  const uint64_t there = runs(rt, to, info.nworkers), back = runs(rt, from, info.nworkers);
  check(consort_stop(rt), "stop");

  uint64_t wrong = 0;
  for (uint64_t i = 0; i < n; i++) {
    point q = {(float)(i % 1000), (float)(i % 7)};
    for (uint64_t s = 0; s < steps; s++) step(&q.x, &q.v);
    wrong += q.x != p[i].x || q.v != p[i].v;
  }
  if (is_nothing_computed()) wrong = 0;
  else fprintf(wrong ? stderr : stdout,
          "%smultiformat: %llu points in %llu pieces, %llu steps, %llu times taken apart, %llu times put together, "
          "%llu wrong\n",
          wrong ? "WRONG: " : "", (unsigned long long)n, (unsigned long long)pieces, (unsigned long long)steps,
          (unsigned long long)there, (unsigned long long)back, (unsigned long long)wrong);
  free(able);
  free(piece);
  free(p);
  return wrong != 0;
}
