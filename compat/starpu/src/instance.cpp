// Start and stop of the layer, and its configuration.
#include "instance.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "codelet.hpp"
#include "environment.hpp"
#include "layouts.hpp"
#include "tags.hpp"

namespace starpu_layer {

Instance instance;
thread_local Running running;
thread_local int callback_depth = 0;

void Unfinished::wake() {
  std::lock_guard lock(lock_);
  ended_.notify_all();
}

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * STARPU_NS_PER_S + static_cast<uint64_t>(t.tv_nsec);
}

int errno_of(consort_status status) {
  switch (status) {
    case CONSORT_E_NOMEM: return -ENOMEM;
    case CONSORT_E_UNSUPPORTED: return -ENODEV;
    case CONSORT_E_BUSY: return -EDEADLK;
    case CONSORT_E_TIMEOUT: return -EAGAIN;
    case CONSORT_E_STOPPED: return -ENODEV;
    default: return status < 0 ? -EINVAL : 0;
  }
}

void must(consort_status status, const char *call) {
  if (status >= 0) return;
  std::fprintf(stderr, "[starpu] %s: %s\n", call, consort_error());
  std::abort();
}

namespace {

std::mutex gate_lock;
std::condition_variable gate_open;
std::atomic<bool> gate_closed{false};
int starts = 0;  // calls of starpu_init() that starpu_shutdown() has not answered. Under start_lock.
std::mutex start_lock;
std::condition_variable started;

void read_workers(Instance &to) {
  consort_info info{};
  info.size = sizeof info;
  must(consort_get_info(to.rt, &info), "starpu_init");
  for (uint32_t w = 0; w < info.nworkers; ++w) {
    consort_worker_info about{};
    about.size = sizeof about;
    must(consort_get_worker(to.rt, w, &about), "starpu_init");
    WorkerFacts facts;
    facts.device = static_cast<int>(w);
    facts.core = about.os_cpu;
    facts.node = about.space;
    facts.mask = STARPU_CPU;
    facts.name = "CPU " + std::to_string(w);
    to.kinds |= facts.mask;
    to.workers.push_back(std::move(facts));
  }
  to.counts = std::make_unique<WorkerCounts[]>(info.nworkers ? info.nworkers : 1);
  for (uint32_t s = 0; s < info.nspaces; ++s) {
    consort_space_info about{};
    about.size = sizeof about;
    must(consort_get_space(to.rt, s, &about), "starpu_init");
    to.nodes.push_back(about.name);
  }
}

int start(const starpu_conf &conf) {
  const Environment env(conf);
  if (env.workers == 0) return -ENODEV;
  std::vector<consort_setting> set;
  const std::string workers = std::to_string(env.workers);
  if (env.workers > 0) set.push_back({"workers", workers.c_str()});
  set.push_back({"drivers", "cpu"});
  set.push_back({"window", "0"});  // a submitter never runs tasks
  if (!env.scheduler.empty()) set.push_back({"scheduler", env.scheduler.c_str()});
  if (conf.calibrate > 0) set.push_back({"calibrate", conf.calibrate > 1 ? "drop" : "force"});
  consort_settings settings = CONSORT_SETTINGS_INIT;
  consort_entry_fn *const modules[] = {layouts_module};
  settings.set = set.data();
  settings.nset = static_cast<uint32_t>(set.size());
  settings.modules = modules;
  settings.nmodules = 1;
  consort_runtime *rt = nullptr;
  if (const consort_status s = consort_start(&settings, &rt); s < 0) {
    std::fprintf(stderr, "[starpu] starpu_init: %s\n", consort_error());
    return -ENODEV;
  }
  instance.rt = rt;
  instance.kinds = 0;
  instance.workers.clear();
  instance.nodes.clear();
  read_workers(instance);
  instance.least_priority = env.least_priority;
  instance.most_priority = env.most_priority;
  instance.submitted_most = env.submitted_most;
  instance.submitted_least = env.submitted_least;
  instance.started_ns = now_ns();
  return 0;
}

}  // namespace

void wait_while_paused() {
  if (!gate_closed.load(std::memory_order_acquire)) [[likely]]
    return;
  std::unique_lock lock(gate_lock);
  gate_open.wait(lock, [] { return !gate_closed.load(); });
}

}  // namespace starpu_layer

using namespace starpu_layer;

int starpu_conf_init(struct starpu_conf *conf) {
  if (!conf) return -EINVAL;
  std::memset(conf, 0, sizeof *conf);
  conf->magic = 42;
  conf->will_use_mpi = -1;
  conf->sched_policy_name = std::getenv("STARPU_SCHED");
  conf->ncpus = static_cast<int>(environment_number("STARPU_NCPU", environment_number("STARPU_NCPUS", -1)));
  conf->reserve_ncpus = static_cast<int>(environment_number("STARPU_RESERVE_NCPU", 0));
  conf->ncuda = static_cast<int>(environment_number("STARPU_NCUDA", -1));
  conf->nopencl = static_cast<int>(environment_number("STARPU_NOPENCL", -1));
  conf->nmic = static_cast<int>(environment_number("STARPU_NMIC", -1));
  conf->nmpi_ms = static_cast<int>(environment_number("STARPU_NMPI_MS", -1));
  conf->calibrate = static_cast<int>(environment_number("STARPU_CALIBRATE", 0));
  conf->bus_calibrate = static_cast<int>(environment_number("STARPU_BUS_CALIBRATE", 0));
  conf->single_combined_worker = static_cast<int>(environment_number("STARPU_SINGLE_COMBINED_WORKER", 0));
  conf->trace_buffer_size = uint64_t{64} << 20;
  conf->driver_spinning_backoff_min = 1;
  conf->driver_spinning_backoff_max = 32;
  conf->catch_signals = 1;
  return 0;
}

int starpu_init(struct starpu_conf *conf) { return starpu_initialize(conf, nullptr, nullptr); }

int starpu_initialize(struct starpu_conf *user_conf, int *, char ***) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  if (user_conf) {
    if (user_conf->magic != 42) return -EINVAL;
    conf = *user_conf;
  }
  std::lock_guard lock(start_lock);
  if (starts == 0)
    if (const int rc = start(conf); rc < 0) return rc;
  ++starts;
  started.notify_all();
  return 0;
}

int starpu_is_initialized(void) {
  std::lock_guard lock(start_lock);
  return starts > 0;
}

void starpu_wait_initialized(void) {
  std::unique_lock lock(start_lock);
  started.wait(lock, [] { return starts > 0; });
}

void starpu_shutdown(void) {
  {
    std::lock_guard lock(start_lock);
    if (starts == 0 || --starts > 0) return;
  }
  starpu_resume();
  instance.unfinished.wait_until_at_most(0);
  if (const consort_status s = consort_stop(instance.rt); s < 0)
    std::fprintf(stderr, "[starpu] starpu_shutdown: %s\n", consort_error());
  instance.rt = nullptr;
  forget_codelets();
  forget_tags();
}

void starpu_pause(void) { gate_closed.store(true); }

void starpu_resume(void) {
  {
    std::lock_guard lock(gate_lock);
    gate_closed.store(false);
  }
  gate_open.notify_all();
}

int starpu_asynchronous_copy_disabled(void) { return 0; }
int starpu_asynchronous_cuda_copy_disabled(void) { return 1; }
int starpu_asynchronous_opencl_copy_disabled(void) { return 1; }
int starpu_asynchronous_mic_copy_disabled(void) { return 1; }
int starpu_asynchronous_mpi_ms_copy_disabled(void) { return 1; }

void starpu_get_version(int *major, int *minor, int *release) {
  *major = STARPU_MAJOR_VERSION;
  *minor = STARPU_MINOR_VERSION;
  *release = STARPU_RELEASE_VERSION;
}

void starpu_topology_print(FILE *f) {
  for (const WorkerFacts &w : instance.workers)
    std::fprintf(f, "%s\tcore %d\tmemory %s\n", w.name.c_str(), w.core, instance.nodes[w.node].c_str());
}

void starpu_display_stats(void) { starpu_profiling_worker_helper_display_summary(); }
