/* render — tasks write into a buffer of OpenGL's, which then draws it: pictures of a Julia set, a vertex for each pixel. The buffer
 * is mapped for CUDA, and its parts are data whose home is the device's memory: what a GPU computes is written in place, what a core
 * computes comes there by itself. No window, no server. Each picture is checked; the last one is written if there is a file for it.
 *   render [WIDTH [FRAMES [FILE.ppm]]] */
#include <consort/memory.h>
#include <string.h>

#include "../example.h"
#include "cuda_gl.h"
#include "gl.h"

enum { BANDS = 8, TURNS = 63 };

/* Whole numbers, twelve bits of them behind the point: the same on every machine. */
static uint32_t colour_of(int col, int row, int width, int cx, int cy) {
  int x = (2 * col + 1 - width) * 6144 / width, y = (2 * row + 1 - width) * 6144 / width, k = 0;
  for (; k < TURNS && x * x + y * y < 4 << 24; k++) {
    const int next = (x * x - y * y) / 4096 + cx;
    y = 2 * x * y / 4096 + cy;
    x = next;
  }
  return (uint32_t)(4 * k) | (uint32_t)(k * k / 16) << 8 | (uint32_t)(255 - 4 * k) << 16 | 255u << 24;
}

static consort_status julia(const consort_call *call) {
  const consort_vector_view *band = call->views[0];
  vertex *v = consort_ptr(band->addr);
  int of[4];
  for (int i = 0; i < 4; i++) memcpy(&of[i], &call->args[i].scalar, sizeof of[i]);
  for (uint64_t i = 0; i < band->n; i++) {
    const int width = of[1], col = (int)(i % (uint64_t)width), row = of[0] + (int)(i / (uint64_t)width);
    v[i] = (vertex){(float)(2 * col + 1 - width) / (float)width, (float)(2 * row + 1 - width) / (float)width,
                    colour_of(col, row, width, of[2], of[3])};
  }
  return CONSORT_OK;
}
static const char julia_cu[] =
    "struct vertex { float x, y; unsigned colour; };\n"
    "extern \"C\" __global__ void julia(vertex *v, unsigned long long n, int first, int width, int cx, int cy) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;\n"
    "  if (i >= n) return;\n"
    "  int col = i % width, row = first + i / width, k = 0;\n"
    "  int x = (2 * col + 1 - width) * 6144 / width, y = (2 * row + 1 - width) * 6144 / width;\n"
    "  for (; k < 63 && x * x + y * y < 4 << 24; k++) {\n"
    "    int next = (x * x - y * y) / 4096 + cx;\n"
    "    y = 2 * x * y / 4096 + cy;\n"
    "    x = next;\n"
    "  }\n"
    "  v[i].x = (2 * col + 1 - width) / (float)width;\n"
    "  v[i].y = (2 * row + 1 - width) / (float)width;\n"
    "  v[i].colour = 4 * k | k * k / 16 << 8 | 255 - 4 * k << 16 | 255u << 24;\n"
    "}\n";

/* The first worker of class "cuda"; CONSORT_NONE: there is none. */
static uint32_t gpu_of(consort_runtime *rt, consort_worker_info *out) {
  consort_info info = {.size = sizeof info};
  check(consort_get_info(rt, &info), "info");
  for (uint32_t w = 0; w < info.nworkers; w++) {
    *out = (consort_worker_info){.size = sizeof *out};
    check(consort_get_worker(rt, w, out), "worker");
    if (!strcmp(out->klass, "cuda")) return w;
  }
  return CONSORT_NONE;
}

/* The buffer's vertices, `at` the device, computed by a task for each band of rows. */
static void compute(consort_runtime *rt, consort_codelet_id codelet, const consort_worker_info *gpu, uint64_t at, int width, int cx, int cy) {
  consort_data_id band[BANDS];
  for (int b = 0; b < BANDS; b++) {
    const int first = width * b / BANDS, end = width * (b + 1) / BANDS;
    const uint64_t offset = (uint64_t)first * (uint64_t)width * sizeof(vertex);
    const consort_vector_args part = {(void *)(uintptr_t)(at + offset), (uint64_t)(end - first) * (uint64_t)width, sizeof(vertex)};
    const consort_data_desc desc = {sizeof desc, 0, "vector", &part, sizeof part, NULL};
    band[b] = (consort_data_id){0};
    if (part.n == 0) continue; /* a small picture has fewer bands */
    check(consort_register_in(rt, &desc, gpu->space, &band[b]), "register");
    const consort_use use = {band[b], CONSORT_M_W, 0};
    const int of[] = {first, width, cx, cy};
    consort_arg args[4] = {{0}};
    for (int i = 0; i < 4; i++) {
      args[i].kind = CONSORT_ARG_SCALAR;
      args[i].bytes = sizeof of[i];
      memcpy(&args[i].scalar, &of[i], sizeof of[i]);
    }
    consort_task_desc task = CONSORT_TASK_INIT;
    task.codelet = codelet;
    task.uses = &use;
    task.nuses = 1;
    task.args = args;
    task.nargs = 4;
    if (b % 2) task.worker = gpu->id; /* the others: any free worker */
    check(consort_submit(rt, &task, NULL), "submit");
  }
  check(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  for (int b = 0; b < BANDS; b++)
    if (band[b].v) check(consort_unregister(rt, band[b]), "unregister"); /* all of it is in the buffer now */
}

static void write_picture(const char *name, const uint32_t *pixels, int width) {
  FILE *file = fopen(name, "wb");
  if (!file) {
    fprintf(stderr, "WRONG: %s cannot be written\n", name);
    exit(1);
  }
  fprintf(file, "P6\n%d %d\n255\n", width, width);
  for (int row = width; row-- > 0;) /* a file begins at the top */
    for (int col = 0; col < width; col++) fwrite(&pixels[row * width + col], 1, 3, file);
  fclose(file);
}

int main(int argc, char **argv) {
  const int width = argc > 1 ? atoi(argv[1]) : 256, frames = argc > 2 ? atoi(argv[2]) : 3;
  if (width < 1 || width > 4096 || frames < 1) return fputs("usage: render [WIDTH [FRAMES [FILE.ppm]]], WIDTH up to 4096\n", stderr), 2;
  const consort_setting set[] = {{"cuda.devices", "0"}, {"drivers", "*, cuda"}}; /* it starts where it is named */
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set;
  settings.nset = getenv("CONSORT_DRIVERS") ? 1 : 2;
  consort_runtime *rt;
  check(consort_start(&settings, &rt), "start");
  consort_worker_info gpu;
  const char *why = "no unit of class \"cuda\" here, and nothing else shares memory with OpenGL";
  const uint32_t worker = gpu_of(rt, &gpu);
  if (is_nothing_computed()) why = "not computed: a simulated GPU shares no memory with OpenGL";
  else if (worker != CONSORT_NONE) why = gl_begin();
  if (why) {
    printf("render: %s\n", why);
    return check(consort_stop(rt), "stop"), 0;
  }
  const consort_impl impls[] = {{.klass = "cpu", .fn = julia}, {.klass = "cuda", .format = "cuda", .text = julia_cu, .entry = "julia"}};
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = "julia";
  desc.impls = impls;
  desc.nimpls = 2;
  consort_codelet_id codelet_id;
  check(consort_codelet_add(rt, &desc, &codelet_id), "codelet");

  const size_t n = (size_t)width * (size_t)width;
  uint32_t *pixels = malloc(n * sizeof *pixels);
  if (!pixels) return fputs("render: out of memory; ask for a smaller picture\n", stderr), 1;
  size_t wrong = 0;
  cu_begin();
  const GLuint buffer = gl_buffer(n);
  cu_resource resource;
  cu_check(cu.cuGraphicsGLRegisterBuffer(&resource, buffer, 2 /* all of it is written anew each time */), "register the buffer");
  for (int f = 0; f < frames; f++) {
    const int cx = -3000 + 40 * f, cy = 700 + 25 * f;
    uint64_t at = 0;
    size_t bytes = 0;
    cu_check(cu.cuGraphicsMapResources(1, &resource, NULL), "map the buffer");
    cu_check(cu.cuGraphicsResourceGetMappedPointer_v2(&at, &bytes, resource), "the buffer's address");
    compute(rt, codelet_id, &gpu, at, width, cx, cy);
    cu_check(cu.cuGraphicsUnmapResources(1, &resource, NULL), "unmap the buffer");
    const unsigned error = gl_draw(buffer, width, width, pixels);
    if (error) return fprintf(stderr, "WRONG: OpenGL says 0x%x\n", error), 1;
    for (int row = 0; row < width; row++)
      for (int col = 0; col < width; col++) wrong += pixels[row * width + col] != colour_of(col, row, width, cx, cy);
  }
  cu_check(cu.cuGraphicsUnregisterResource(resource), "unregister the buffer");
  gl_drop(buffer);
  check(consort_get_worker(rt, worker, &gpu), "worker");
  const unsigned long long there = gpu.tasks;
  check(consort_stop(rt), "stop");
  cu_end();
  gl_end();
  if (argc > 3) write_picture(argv[3], pixels, width);
  free(pixels);
  fprintf(wrong ? stderr : stdout, "%srender: %d pictures of %d x %d points, %llu tasks on the GPU, %zu pixels wrong\n", wrong ? "WRONG: " : "",
          frames, width, width, there, wrong);
  return wrong != 0;
}
