/* Messages through the transport "new-name", by its table: no runtime that spans processes is needed. runs FOLDER-OF-THE-PLUGIN */
#include <consort/transport.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 10000, BYTES = 100 };

static uint64_t ups;
static void log_line(const consort_host *h, int32_t level, const char *text) {
  (void)h;
  fprintf(stderr, "%d: %s\n", (int)level, text);
}
static consort_status fail(const consort_host *h, consort_status s, const char *text) {
  log_line(h, 0, text);
  return s;
}
static const void *get(const consort_host *h, const char *id) {
  (void)h, (void)id;
  return NULL;
}
static const char *param(const consort_host *h, const char *key) {
  (void)h;
  return strcmp(key, "depth") == 0 ? "8" : NULL;
}
static uint64_t now(const consort_host *h) {
  (void)h;
  return 1;
}
static void event(const consort_host *h, uint32_t what, uint64_t object, int64_t detail) {
  (void)h, (void)detail;
  ups += what == CONSORT_EV_PEER_UP && object == 7;
}

static void need(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "new-name: %s\n", what);
  exit(1);
}

int main(int argc, char **argv) {
  char path[4096];
  snprintf(path, sizeof path, "%s/new-name.so", argc > 1 ? argv[1] : ".");
  void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!file) return fprintf(stderr, "%s\n", dlerror()), 1;
  const consort_host host = {.size = sizeof host,
                             .major = CONSORT_HOST_MAJOR,
                             .minor = CONSORT_HOST_MINOR,
                             .log = log_line,
                             .fail = fail,
                             .get = get,
                             .param = param,
                             .now = now,
                             .event = event};
  consort_entry_fn *entry = NULL;
  *(void **)&entry = dlsym(file, "consort_plugin_entry");
  const consort_plugin *plugin = entry(&host)->plugins[0];
  const consort_transport_ops *ops = plugin->ops;
  void *self = NULL, *t;
  need(plugin->init(&host, &self) == CONSORT_OK, "does not start");
  const consort_boot boot = {.size = sizeof boot, .rank = 3, .nranks = 4, .job = "runs"};
  consort_tcaps caps = {.size = sizeof caps};
  need(ops->open(self, &host, &boot, 7, &t, &caps) == CONSORT_OK, "does not open");
  unsigned char address[64];
  uint32_t n = sizeof address;
  need(ops->address(t, address, &n) == CONSORT_OK && n <= caps.max_address, "has no address");
  need(ops->connect(t, 3, address, n) == CONSORT_OK && ups == 1, "does not reach itself");

  static unsigned char from[BYTES], to[BYTES];
  uint64_t sent = 0, received = 0, told = 0;
  while (received < MESSAGES ||
         told < 2 * MESSAGES) { /* numbers as tags; sends and receives a few ahead, as there is room */
    consort_msg m[2] = {
        {.kind = CONSORT_MSG_SEND, .peer = 3, .cookie = 2 * sent, .tag = sent, .bytes = sent % BYTES, .rows = 1},
        {.kind = CONSORT_MSG_RECV,
         .peer = CONSORT_NONE,
         .cookie = 2 * received + 1,
         .tag = received,
         .bytes = BYTES,
         .rows = 1}};
    m[0].local.base = (uint64_t)(uintptr_t)from, m[1].local.base = (uint64_t)(uintptr_t)to;
    if (sent < MESSAGES) sent += ops->post(t, &m[0], 1);
    if (received < MESSAGES) received += ops->post(t, &m[1], 1);
    consort_done done[4];
    const uint32_t k = ops->poll(t, done, 4);
    for (uint32_t i = 0; i < k; i++) {
      const uint64_t number = done[i].cookie / 2;
      need(done[i].status == CONSORT_OK && done[i].tag == number && done[i].bytes == number % BYTES,
           "mixes messages up");
      need(done[i].cookie % 2 == 0 || done[i].source == 3, "does not say who has sent");
    }
    told += k;
  }

  const consort_space_desc space = {.size = sizeof space, .flags = CONSORT_SP_CPU, .domain = "host"};
  const consort_addr there = {(uint64_t)(uintptr_t)to, 0};
  consort_mr mr;
  need(ops->reg(t, &space, there, BYTES, &mr) == CONSORT_OK, "takes no memory");
  memset(from, 5, sizeof from);
  const uint64_t offsets[] = {0, 1}; /* the second reaches a byte too far */
  for (int i = 0; i < 2; i++) {
    const consort_msg put = {.kind = CONSORT_MSG_PUT,
                             .flags = CONSORT_MF_NOTIFY,
                             .peer = 3,
                             .cookie = 99,
                             .tag = 4,
                             .local = {(uint64_t)(uintptr_t)from, 0},
                             .bytes = BYTES,
                             .remote = {there.base, offsets[i]},
                             .rkey = mr.rkey,
                             .nrkey = mr.nrkey,
                             .rows = 1};
    need(ops->post(t, &put, 1) == 1, "takes no PUT");
    consort_done done[4];
    const uint32_t k = ops->poll(t, done, 4);
    need(done[0].cookie == 99 && done[0].status == (i ? CONSORT_E_INVAL : CONSORT_OK),
         "does not keep to the bounds of memory");
    need(k == (i ? 1u : 2u) && (i || (done[1].cookie == CONSORT_NOTIFIED && done[1].tag == 4 && done[1].source == 3)),
         "does not notify");
  }
  need(memcmp(from, to, BYTES) == 0, "puts other bytes");
  ops->dereg(t, &mr);
  ops->disconnect(t, 3);
  ops->close(t);
  if (plugin->fini) plugin->fini(self);
  printf("new-name: %d messages, a PUT and one out of bounds\n", MESSAGES);
  return 0;
}
