/* What CUDA has for buffers of OpenGL's, found by name in the library that Consort's driver uses, so that this builds without
 * NVIDIA's toolkit; a program that has it includes cudaGL.h and links libcuda. For main()'s thread, where the GL context is current. */
#pragma once
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct shared_buffer *cu_resource; /* CUgraphicsResource */
static struct {
  int (*cuInit)(unsigned);
  int (*cuDevicePrimaryCtxRetain)(void **context, int device);
  int (*cuDevicePrimaryCtxRelease_v2)(int device);
  int (*cuCtxSetCurrent)(void *context);
  int (*cuGraphicsGLRegisterBuffer)(cu_resource *, unsigned buffer, unsigned flags);
  int (*cuGraphicsUnregisterResource)(cu_resource);
  int (*cuGraphicsMapResources)(unsigned n, cu_resource *, void *stream);
  int (*cuGraphicsUnmapResources)(unsigned n, cu_resource *, void *stream);
  int (*cuGraphicsResourceGetMappedPointer_v2)(uint64_t *at, size_t *bytes, cu_resource);
} cu;

static inline void cu_check(int error, const char *what) {
  if (!error) return;
  fprintf(stderr, "WRONG: %s: CUDA answers %d\n", what, error);
  exit(1);
}

/* The primary context of the first device, current on this thread: it is the one that Consort works in. */
static inline void cu_begin(void) {
  const char *name = getenv("CONSORT_CUDA__LIBRARY");
  void *library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *context = NULL;
  cu_check(!library, "the library");
#define FIND(function) \
  cu_check(!(*(void **)&cu.function = dlsym(library, #function)), #function);
  FIND(cuInit)
  FIND(cuDevicePrimaryCtxRetain)
  FIND(cuDevicePrimaryCtxRelease_v2)
  FIND(cuCtxSetCurrent)
  FIND(cuGraphicsGLRegisterBuffer)
  FIND(cuGraphicsUnregisterResource)
  FIND(cuGraphicsMapResources)
  FIND(cuGraphicsUnmapResources)
  FIND(cuGraphicsResourceGetMappedPointer_v2)
#undef FIND
  cu_check(cu.cuInit(0), "cuInit");
  cu_check(cu.cuDevicePrimaryCtxRetain(&context, 0), "the primary context");
  cu_check(cu.cuCtxSetCurrent(context), "the primary context");
}

static inline void cu_end(void) {
  cu_check(cu.cuCtxSetCurrent(NULL), "the primary context");
  cu_check(cu.cuDevicePrimaryCtxRelease_v2(0), "the primary context");
}
