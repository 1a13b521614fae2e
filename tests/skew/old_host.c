/* A small host, built with the headers that the build selects. It loads FILE.so, negotiates as a host does, and calls
 * the first functions of its kind. It checks the bytes behind each out-parameter. One line for each result; the status
 * is 0 unless there is no file.
 *   old_host FILE.so
 * Its table lies at the end of readable memory: the bytes behind it are no pointers. One thread. */
#define _POSIX_C_SOURCE 200809L
#include <consort/driver.h>
#include <consort/interface.h>
#include <consort/scheduler.h>
#include <consort/transport.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, POISON = 0xa5 };
static const consort_plugin *plugin;

/* A struct that a plugin fills, with bytes behind it that it must not touch. */
#define GUARDED(T, name)                    \
  union {                                   \
    T it;                                   \
    unsigned char bytes[sizeof(T) + GUARD]; \
  } name;                                   \
  memset(&name, POISON, sizeof name);       \
  memset(&name.it, 0, sizeof(T));           \
  name.it.size = sizeof(T)
static void look_behind(const char *what, const unsigned char *bytes, size_t size) {
  for (size_t i = size; i < size + GUARD; ++i)
    if (bytes[i] != POISON) {
      printf("wrote past the %zu bytes of %s\n", size, what);
      return;
    }
  printf("kept to the %zu bytes of %s\n", size, what);
}
#define LOOK_BEHIND(T, name) look_behind(#T, name.bytes, sizeof(T))

static void log_(const consort_host *h, int32_t level, const char *text) { (void)h, (void)level, (void)text; }
static consort_status fail(const consort_host *h, consort_status code, const char *text) {
  (void)h;
  printf("said by the plugin: %s\n", text);
  return code;
}
static const void *get(const consort_host *h, const char *id) { return (void)h, (void)id, NULL; }
static const char *param(const consort_host *h, const char *key) { /* their defaults */
  (void)h;
  for (uint32_t i = 0; plugin && i < plugin->nparams; ++i)
    if (strcmp(plugin->params[i].key, key) == 0) return plugin->params[i].dflt;
  return NULL;
}
static void *alloc(const consort_host *h, size_t bytes, size_t align) {
  void *p = NULL;
  (void)h;
  return posix_memalign(&p, align < sizeof p ? sizeof p : align, bytes) == 0 ? p : NULL;
}
static void release(const consort_host *h, void *p) { (void)h, free(p); }
static uint64_t now(const consort_host *h) { return (void)h, 1; }
static void complete(const consort_host *h, uint64_t token, const consort_done *d, uint32_t n) {
  (void)h, (void)token, (void)d, (void)n;
}
static void event(const consort_host *h, uint32_t what, uint64_t object, int64_t detail) {
  (void)h, (void)what, (void)object, (void)detail;
}

static void call_driver(const consort_driver_ops *ops, void *self) {
  void *dev = NULL, *q = NULL;
  const uint32_t n = ops->count(self);
  printf("devices: %u\n", (unsigned)n);
  if (n == 0 || ops->open(self, 0, 7, &dev) < 0) return;
  GUARDED(consort_space_desc, space);
  if (ops->space(dev, 0, &space.it) >= 0) LOOK_BEHIND(consort_space_desc, space);
  GUARDED(consort_space_desc, other);
  other.it.id = 1, other.it.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT, other.it.name = other.it.domain = "host",
  other.it.granule = other.it.align = 1;
  GUARDED(consort_link_desc, link);
  if (ops->link(dev, &space.it, &other.it, &link.it) >= 0 || ops->link(dev, &other.it, &space.it, &link.it) >= 0)
    LOOK_BEHIND(consort_link_desc, link);
  GUARDED(consort_unit_desc, unit);
  if (ops->unit && ops->unit(dev, 0, &unit.it) >= 0) LOOK_BEHIND(consort_unit_desc, unit);
  GUARDED(consort_queue_desc, queue);
  if (ops->queue_open(dev, CONSORT_NONE, 9, &queue.it, &q) >= 0) {
    LOOK_BEHIND(consort_queue_desc, queue);
    ops->queue_close(q);
  }
  ops->close(dev);
}

static void call_interface(const consort_interface_ops *ops) {
  uint64_t shape[32], view[32], number = 0, wire[32];
  if (ops->shape_size > sizeof shape || ops->view_size > sizeof view) return;
  if (ops->shape(&number, sizeof number, shape, view) < 0) return;
  printf("bytes: %llu\n", (unsigned long long)ops->bytes(shape));
  const uint32_t n = ops->encode(shape, wire, sizeof wire);
  printf("encoded: %u, decoded: %d\n", (unsigned)n, (int)ops->decode(wire, n, shape));
}

static void call_scheduler(const consort_scheduler_ops *ops, void *self, const consort_host *host) {
  const consort_worker members[2] = {{0}, {0}};
  const uint32_t ids[2] = {0, 1};
  const char *const classes[] = {"cpu"};
  const consort_topology topology = {
      .size = sizeof topology, .generation = 1, .nworkers = 2, .nclasses = 1, .workers = members, .classes = classes};
  static consort_task tasks[3];
  consort_task *ready[3], *left[4];
  uint64_t bits[1] = {0};
  consort_wake wake = {1, 0, bits};
  void *s = NULL;
  if (ops->create(self, host, &topology, 5, &s) < 0) return;
  if (ops->workers(s, &topology, ids, 2, NULL, 0) < 0) return;
  for (int i = 0; i < 3; ++i) {
    tasks[i].where = 1;
    ready[i] = &tasks[i];
  }
  consort_push push = {
      .epoch = 5, .from = CONSORT_NONE, .flags = CONSORT_PUSH_NEW, .ready = ready, .n = 3, .wake = &wake};
  consort_pick picks[2];
  const uint32_t pushed = ops->push(s, &push), popped = ops->pop(s, 0, picks, 2),
                 drained = ops->drain(s, CONSORT_NEVER, left, 4);
  printf("pushed %u, popped and drained %u\n", (unsigned)pushed, (unsigned)(popped + drained));
  printf("quiet: %d\n", (int)ops->quiesce(s, CONSORT_NEVER));
  ops->destroy(s);
}

static void call_transport(const consort_transport_ops *ops, void *self, const consort_host *host) {
  const consort_boot boot = {.size = sizeof boot, .nranks = 1, .job = "skew"};
  void *t = NULL;
  GUARDED(consort_tcaps, caps);
  const consort_status s = ops->open(self, host, &boot, 3, &t, &caps.it);
  printf("opened: %d\n", (int)s);
  if (s < 0) return;
  LOOK_BEHIND(consort_tcaps, caps);
  ops->close(t);
}

/* Whether a host takes a plugin of this version: the rule of plugin.h, and the flag. */
static int fits(const char *family, const consort_plugin *p, uint16_t major, uint16_t minor) {
  if (CONSORT_ABI_OK(major, minor, p->abi_major, p->abi_minor) &&
      !((p->flags & CONSORT_PF_NEEDS_MINOR) && p->abi_minor > minor))
    return 1;
  printf("refused by the host: %s ABI %u.%u, here %u.%u\n", family, (unsigned)p->abi_major, (unsigned)p->abi_minor,
         (unsigned)major, (unsigned)minor);
  return 0;
}

int main(int argc, char **argv) {
  static union {
    consort_host table;
    unsigned char bytes[sizeof(consort_host) + GUARD];
  } host;
  memset(&host, POISON, sizeof host);
  host.table = (consort_host){sizeof(consort_host),
                              CONSORT_HOST_MAJOR,
                              CONSORT_HOST_MINOR,
                              NULL,
                              log_,
                              fail,
                              get,
                              param,
                              alloc,
                              release,
                              now,
                              complete,
                              event};
  void *file = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!file) return fprintf(stderr, "old_host FILE.so: %s\n", argc == 2 ? dlerror() : "name one"), 1;
  consort_entry_fn *entry;
  void *found = dlsym(file, "consort_plugin_entry");
  memcpy(&entry, &found, sizeof entry);
  const consort_module *module = entry(&host.table);
  if (!module) return puts("refused by the plugin"), 0;
  plugin = module->plugins[0];
  const int taken = plugin->kind == CONSORT_KIND_DRIVER
                        ? fits("driver", plugin, CONSORT_DRIVER_MAJOR, CONSORT_DRIVER_MINOR)
                    : plugin->kind == CONSORT_KIND_INTERFACE
                        ? fits("interface", plugin, CONSORT_INTERFACE_MAJOR, CONSORT_INTERFACE_MINOR)
                    : plugin->kind == CONSORT_KIND_SCHEDULER
                        ? fits("scheduler", plugin, CONSORT_SCHEDULER_MAJOR, CONSORT_SCHEDULER_MINOR)
                        : fits("transport", plugin, CONSORT_TRANSPORT_MAJOR, CONSORT_TRANSPORT_MINOR);
  if (!taken) return 0;
  printf("taken: %s\n", plugin->name);
  void *self = NULL;
  if (plugin->init && plugin->init(&host.table, &self) < 0) return puts("does not start"), 0;
  switch (plugin->kind) {
    case CONSORT_KIND_DRIVER:
      call_driver(plugin->ops, self);
      break;
    case CONSORT_KIND_INTERFACE:
      call_interface(plugin->ops);
      break;
    case CONSORT_KIND_SCHEDULER:
      call_scheduler(plugin->ops, self, &host.table);
      break;
    default:
      call_transport(plugin->ops, self, &host.table);
  }
  if (plugin->fini) plugin->fini(self);
  look_behind("consort_host", host.bytes, sizeof(consort_host));
  puts("done");
  return 0;
}
