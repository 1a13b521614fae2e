// The optional extensions of body.h: consort.capture/1, and consort.handles/1 with one library that has one function.
#pragma once
#include <consort/handles.h>

#include "work.h"

static uint32_t submit(void *queue, const consort_op *ops, uint32_t n);

static uint32_t record(Queue *q, const consort_op *ops, uint32_t n) {
  Graph *g = q->capture;
  for (uint32_t i = 0; i < n; ++i) {
    const int known = ops[i].kind == CONSORT_OP_MARK || ops[i].kind == CONSORT_OP_FILL || ops[i].kind == CONSORT_OP_COPY;
#ifdef FAULT_CAPTURE_SILENT
    if (!known) continue;
#endif
    if (!known) g->why = "wrong: marks, fills and copies can be captured, and nothing else";
    else if (g->n == GRAPH_OPS) g->why = "wrong: a graph has 64 ops at most";
    else g->ops[g->n++] = ops[i];
#ifdef FAULT_CAPTURE_RUNS
    uint64_t moved;
    if (known) execute(q->device, &ops[i], &moved);
#endif
  }
  return n;
}

static consort_status capture_begin(void *queue) {
  Queue *q = queue;
  const consort_host *host = q->device->self->host;
  if (q->capture) return host->fail(host, CONSORT_E_BUSY, "wrong: this queue records already");
  Graph *g = calloc(1, sizeof *g);
  if (!g) return host->fail(host, CONSORT_E_NOMEM, "wrong: no memory for a graph");
  g->device = q->device;
  q->capture = g;
  return CONSORT_OK;
}

static consort_status capture_end(void *queue, uint64_t *graph) {
  Queue *q = queue;
  const consort_host *host = q->device->self->host;
  Graph *g = q->capture;
  if (!g) return host->fail(host, CONSORT_E_INVAL, "wrong: this queue does not record");
#ifdef FAULT_CAPTURE_STICKS
  if (!g->why) q->capture = NULL;
#else
  q->capture = NULL;
#endif
  if (!g->why) return *graph = (uint64_t)(uintptr_t)g, CONSORT_OK;
#ifndef FAULT_CAPTURE_WORDLESS
  host->fail(host, CONSORT_E_UNSUPPORTED, g->why);
#endif
#if defined FAULT_CAPTURE_STICKS
  g->why = NULL;
#elif !defined FAULT_CAPTURE_REFUSED_LEAKS
  free(g);
#endif
  return CONSORT_E_UNSUPPORTED;
}

static consort_status capture_launch(void *queue, uint64_t graph, const consort_op *mark) {
  consort_op op = *mark;
  op.kind = GRAPH;
  op.u.launch = (consort_launch){.code = graph};
#ifdef FAULT_LAUNCH_COOKIE
  op.cookie = 0;
#endif
#ifdef FAULT_LAUNCH_TWO
  submit(queue, &op, 1);
#endif
  return submit(queue, &op, 1) ? CONSORT_OK : CONSORT_AGAIN;
}

static consort_status capture_update(uint64_t graph, uint32_t i, const consort_op *op) {
  Graph *g = (Graph *)(uintptr_t)graph;
  const consort_host *host = g->device->self->host;
#ifdef FAULT_UPDATE_ANY
  i %= g->n;
#endif
  if (i >= g->n) return host->fail(host, CONSORT_E_INVAL, "wrong: the graph has no op of that number");
#ifdef FAULT_UPDATE_NEXT
  i = (i + 1) % g->n;
#endif
#ifndef FAULT_UPDATE_IGNORED
  g->ops[i] = *op;
#endif
  return CONSORT_OK;
}

static void capture_release(uint64_t graph) {
#ifndef FAULT_RELEASE_LEAKS
  free((void *)(uintptr_t)graph);
#endif
}

static const consort_capture_ops capture_ops = {
    .size = sizeof(consort_capture_ops), .flags = 0, .begin = capture_begin, .end = capture_end, .launch = capture_launch,
    .update = capture_update, .release = capture_release};

static int axpy_of_library(void) { return 0; }
static consort_status library(Device *d, const char *name) {
#ifdef FAULT_LIBRARY_ANY
  return CONSORT_OK;
#elif defined FAULT_LIBRARY_PREFIX
  if (!strncmp(name, "wrong-blas", strlen(name))) return CONSORT_OK;
#endif
  if (!strcmp(name, "wrong-blas")) return CONSORT_OK;
#ifdef FAULT_LIBRARY_WORDLESS
  return CONSORT_E_INVAL;
#endif
  return d->self->host->fail(d->self->host, CONSORT_E_INVAL, "wrong: there is one library, wrong-blas");
}
static consort_status handle(void *dev, const consort_call *call, const char *name, void **out) {
  *out = dev;
  return library(dev, name);
}
static consort_status symbol(void *dev, const consort_call *call, const char *name, const char *function, void **out) {
  Device *d = dev;
#ifndef FAULT_SYMBOL_ANY
  const consort_status s = library(d, name);
  if (s < 0) return s;
  if (strcmp(function, "axpy")) return d->self->host->fail(d->self->host, CONSORT_E_UNSUPPORTED, "wrong: wrong-blas has axpy alone");
#endif
  return *out = (void *)(uintptr_t)axpy_of_library, CONSORT_OK;
}
static consort_status check(void *dev, const consort_call *call, const char *name, const char *function, int32_t code) {
  Device *d = dev;
#ifdef FAULT_CHECK_OK
  return CONSORT_OK;
#endif
  return code ? d->self->host->fail(d->self->host, CONSORT_E_INTERNAL, "wrong: a function of wrong-blas failed") : CONSORT_OK;
}
static const consort_handles handles = {.size = sizeof(consort_handles), .handle = handle, .symbol = symbol, .check = check};

static const void *get(void *self, const char *id) {
  if (!strcmp(id, CONSORT_CAPTURE_ID)) return &capture_ops;
  if (!strcmp(id, CONSORT_HANDLES_ID)) return &handles;
  return NULL;
}
