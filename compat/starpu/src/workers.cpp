// Workers and memory nodes, by number.
#include <consort/teams.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "instance.hpp"

using namespace starpu_layer;

namespace {

const WorkerFacts &facts(int id) {
  STARPU_ASSERT_MSG(id >= 0 && static_cast<size_t>(id) < instance.workers.size(), "there is no worker %d", id);
  return instance.workers[static_cast<size_t>(id)];
}

bool is_of(const WorkerFacts &w, starpu_worker_archtype type) { return type == STARPU_ANY_WORKER || w.type == type; }

void copy_text(const std::string &text, char *dst, size_t maxlen) {
  if (maxlen) std::snprintf(dst, maxlen, "%s", text.c_str());
}

}  // namespace

unsigned starpu_worker_get_count(void) { return static_cast<unsigned>(instance.workers.size()); }

int starpu_worker_get_count_by_type(enum starpu_worker_archtype type) {
  int n = 0;
  for (const WorkerFacts &w : instance.workers) n += is_of(w, type);
  return n;
}

unsigned starpu_cpu_worker_get_count(void) {
  return static_cast<unsigned>(starpu_worker_get_count_by_type(STARPU_CPU_WORKER));
}
unsigned starpu_cuda_worker_get_count(void) {
  return static_cast<unsigned>(starpu_worker_get_count_by_type(STARPU_CUDA_WORKER));
}
unsigned starpu_opencl_worker_get_count(void) {
  return static_cast<unsigned>(starpu_worker_get_count_by_type(STARPU_OPENCL_WORKER));
}
unsigned starpu_mic_worker_get_count(void) {
  return static_cast<unsigned>(starpu_worker_get_count_by_type(STARPU_MIC_WORKER));
}
unsigned starpu_mpi_ms_worker_get_count(void) {
  return static_cast<unsigned>(starpu_worker_get_count_by_type(STARPU_MPI_MS_WORKER));
}
unsigned starpu_mic_device_get_count(void) { return starpu_mic_worker_get_count(); }

unsigned starpu_combined_worker_get_count(void) {
  uint32_t n = 0;
  if (instance.rt) consort_team_count(instance.rt, &n);
  return n;
}

int starpu_worker_get_id(void) {
  if (!instance.rt) return -1;
  const uint32_t w = consort_current_worker(instance.rt);
  return w == CONSORT_NONE ? -1 : static_cast<int>(w);
}

unsigned _starpu_worker_get_id_check(const char *f, int l) {
  const int id = starpu_worker_get_id();
  STARPU_ASSERT_MSG(id >= 0, "%s:%d: not on a worker", f, l);
  return static_cast<unsigned>(id);
}

int starpu_worker_get_bindid(int workerid) { return facts(workerid).core; }
enum starpu_worker_archtype starpu_worker_get_type(int id) { return facts(id).type; }
int starpu_worker_get_devid(int id) { return facts(id).device; }

unsigned starpu_worker_get_ids_by_type(enum starpu_worker_archtype type, int *workerids, unsigned maxsize) {
  unsigned n = 0;
  for (size_t w = 0; w < instance.workers.size(); ++w) {
    if (!is_of(instance.workers[w], type)) continue;
    if (n == maxsize) return static_cast<unsigned>(-ERANGE);
    workerids[n++] = static_cast<int>(w);
  }
  return n;
}

int starpu_worker_get_by_type(enum starpu_worker_archtype type, int num) {
  for (size_t w = 0; w < instance.workers.size(); ++w)
    if (is_of(instance.workers[w], type) && num-- == 0) return static_cast<int>(w);
  return -1;
}

int starpu_worker_get_by_devid(enum starpu_worker_archtype type, int devid) {
  for (size_t w = 0; w < instance.workers.size(); ++w)
    if (instance.workers[w].type == type && instance.workers[w].device == devid) return static_cast<int>(w);
  return -1;
}

int starpu_worker_get_devids(enum starpu_worker_archtype type, int *devids, int num) {
  int n = 0;
  for (const WorkerFacts &w : instance.workers)
    if (is_of(w, type) && n < num) devids[n++] = w.device;
  return n;
}

void starpu_worker_get_name(int id, char *dst, size_t maxlen) { copy_text(facts(id).name, dst, maxlen); }

char *starpu_worker_get_type_as_string(enum starpu_worker_archtype type) {
  static char names[][24] = {"STARPU_CPU_WORKER", "STARPU_CUDA_WORKER",   "STARPU_OPENCL_WORKER",
                             "STARPU_MIC_WORKER", "STARPU_MPI_MS_WORKER", "STARPU_unknown_WORKER"};
  switch (type) {
    case STARPU_CPU_WORKER: return names[0];
    case STARPU_CUDA_WORKER: return names[1];
    case STARPU_OPENCL_WORKER: return names[2];
    case STARPU_MIC_WORKER: return names[3];
    case STARPU_MPI_MS_WORKER: return names[4];
    default: return names[5];
  }
}

void starpu_worker_display_names(FILE *output, enum starpu_worker_archtype type) {
  const int n = starpu_worker_get_count_by_type(type);
  std::fprintf(output, "%d %s worker%s:\n", n, starpu_worker_get_type_as_string(type), n == 1 ? "" : "s");
  for (const WorkerFacts &w : instance.workers)
    if (is_of(w, type)) std::fprintf(output, "\t%s\n", w.name.c_str());
}

unsigned starpu_worker_is_combined_worker(int id) { return static_cast<size_t>(id) >= instance.workers.size(); }
int starpu_combined_worker_get_id(void) { return starpu_worker_get_id(); }
int starpu_combined_worker_get_size(void) { return running.task ? static_cast<int>(running.team) : -1; }
int starpu_combined_worker_get_rank(void) { return running.task ? static_cast<int>(running.rank) : -1; }
unsigned starpu_worker_is_blocked_in_parallel(int) { return 0; }
unsigned starpu_worker_is_slave_somewhere(int) { return 0; }

unsigned starpu_worker_get_memory_node(unsigned workerid) { return facts(static_cast<int>(workerid)).node; }

unsigned starpu_worker_get_local_memory_node(void) {
  const int id = starpu_worker_get_id();
  return id < 0 ? STARPU_MAIN_RAM : facts(id).node;
}

unsigned starpu_memory_nodes_get_count(void) { return static_cast<unsigned>(instance.nodes.size()); }
int starpu_memory_nodes_get_numa_count(void) { return 1; }
int starpu_memory_node_get_devid(unsigned) { return 0; }

int starpu_memory_node_get_name(unsigned node, char *name, size_t size) {
  if (node >= instance.nodes.size()) return 0;
  copy_text(instance.nodes[node], name, size);
  return static_cast<int>(std::strlen(name));
}

enum starpu_node_kind starpu_node_get_kind(unsigned node) {
  return node < instance.nodes.size() ? STARPU_CPU_RAM : STARPU_UNUSED;
}

void starpu_wake_all_blocked_workers(void) {}
