// CONSORT-P-23: says that it can be unloaded, and keeps itself loaded
#define _GNU_SOURCE
#define OWN_LIFE
#include "body.h"
#include <dlfcn.h>

static consort_status init(const consort_host *host, void **out) {
  extern const consort_module *consort_plugin_entry(const consort_host *);
  Dl_info info;
  if (dladdr((void *)consort_plugin_entry, &info)) dlopen(info.dli_fname, RTLD_NOW);
  return CONSORT_OK;
}
static void fini(void *self) {}
