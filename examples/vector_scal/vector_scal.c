/* vector_scal — the C API: a vector in pieces, each scaled by a task of its own, on cores, OpenCL devices and GPUs.
 * Prints the first element before and after, and checks them all.   vector_scal [ELEMENTS [PIECES]] */
#include "example.h"

static consort_status scale(const consort_call *call) {
  const consort_vector_view *x = call->views[0];
  float *e = consort_ptr(x->addr), factor;
  if (call->nargs != 1 || call->args[0].bytes != sizeof factor)
    return consort_fail(CONSORT_E_INVAL, "scale takes one float");
  memcpy(&factor, &call->args[0].scalar, sizeof factor);
  for (uint64_t i = 0; i < x->n; i++) e[i] *= factor;
  return CONSORT_OK;
}
/* The same for an OpenCL device: a work item for each element. It is given what a vector gives, its address and size,
 * and the factor. */
static const char scale_cl[] =
    "__kernel void scale(__global float *x, ulong n, float factor) { x[get_global_id(0)] *= factor; }";

/* For a GPU of NVIDIA's or AMD's: threads reach beyond the elements. */
static const char scale_cu[] =
    "extern \"C\" __global__ void scale(float *x, unsigned long long n, float factor) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] *= factor;\n"
    "}";

int main(int argc, char **argv) {
  const uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1 << 20;
  const uint64_t pieces = argc > 2 ? strtoull(argv[2], NULL, 10) : 16;
  if (n == 0 || pieces == 0) return fputs("usage: vector_scal [ELEMENTS [PIECES]], neither of them 0\n", stderr), 2;
  float *v = malloc(n * sizeof *v);
  consort_data_id *piece = malloc(pieces * sizeof *piece);
  if (!v || !piece) return fputs("vector_scal: out of memory; ask for fewer elements\n", stderr), 1;
  for (uint64_t i = 0; i < n; i++) v[i] = 1.0f;
  printf("BEFORE: the first element is %.1f\n", (double)v[0]);

  consort_runtime *rt;
  check(consort_start(NULL, &rt), "start");
  const consort_impl impls[] = {{.klass = "cpu", .fn = scale},
                                {.klass = "opencl", .format = "cl", .text = scale_cl, .entry = "scale"},
                                {.klass = "cuda", .format = "cuda", .text = scale_cu, .entry = "scale"},
                                {.klass = "hip", .format = "hip", .text = scale_cu, .entry = "scale"}};
  const uint32_t mode = CONSORT_M_RW;
  consort_codelet codelet = CONSORT_CODELET_INIT;
  codelet.name = "scale";
  codelet.impls = impls;
  codelet.nimpls = sizeof impls / sizeof *impls;
  codelet.nmodes = 1;
  codelet.modes = &mode;
  consort_codelet_id id;
  check(consort_codelet_add(rt, &codelet, &id), "codelet");

  const float factor = 3.14f;
  consort_arg arg = {.kind = CONSORT_ARG_SCALAR, .bytes = sizeof factor};
  memcpy(&arg.scalar, &factor, sizeof factor);
  for (uint64_t p = 0; p < pieces; p++) {
    const uint64_t begin = n * p / pieces, end = n * (p + 1) / pieces;
    check(consort_register_vector(rt, v + begin, end - begin, sizeof *v, &piece[p]), "register");
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
  for (uint64_t p = 0; p < pieces; p++) check(consort_unregister(rt, piece[p]), "unregister"); /* v is ours again */
  check(consort_stop(rt), "stop");

  const int computed = !is_nothing_computed();
  if (computed) printf("AFTER: the first element is %.2f\n", (double)v[0]);
  for (uint64_t i = 0; computed && i < n; i++)
    if (v[i] != factor) {
      fprintf(stderr, "WRONG: element %llu is %g, not %g\n", (unsigned long long)i, (double)v[i], (double)factor);
      return 1;
    }
  free(piece);
  free(v);
  return 0;
}
