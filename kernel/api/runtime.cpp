#include "api/runtime.hpp"

#include <consort/layer.h>
#include <consort/times.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/last_error.hpp"
#include "base/process.hpp"
#include "exec/queue.hpp"
#include "exec/wait.hpp"
#include "graph/complete.hpp"
#include "machine/link_benchmark.hpp"
#include "machine/link_calibration.hpp"
#include "model/models.hpp"
#include "observe/explain.hpp"
#include "observe/tracer.hpp"
#include "task/callback.hpp"
#include "task/edges.hpp"

namespace consort {

namespace {

Runtime &runtime_of(void *user) { return static_cast<Runtime &>(*static_cast<Core *>(user)); }

consort_status watch_bodies(const consort_host *h, const consort_body_watch *watch) {
  Runtime &rt = runtime_of(host_user(h));
  if (!watch || !CONSORT_HAS_FN(watch, consort_body_watch, body))
    return set_error(CONSORT_E_INVAL, "a watch of bodies has the function body()");
  if (rt.watched) return set_error(CONSORT_E_BUSY, "another layer watches bodies already: one of them is enough");
  if (rt.run_observer || !rt.executors.empty())
    return set_error(CONSORT_E_INVAL, "the workers have started: a layer watches bodies from its init()");
  rt.watched.reset(new (std::nothrow) WatchedRuns(*watch));
  return rt.watched ? CONSORT_OK : set_error(CONSORT_E_NOMEM, "no memory for a watch of bodies");
}
uint32_t holds_of(const consort_host *h, uint64_t task) { return runtime_of(host_user(h)).ends.holds(task); }
void describe_op(const consort_host *, const consort_op *op, void (*to)(void *, const consort_body *), void *user) {
  if (op->codelet != CONSORT_NONE) Queue::describe(*op, to, user);
}

const void *service(void *user, const consort_plugin *, const char *id) {
  static constexpr consort_bodies bodies = {sizeof(consort_bodies), 0, watch_bodies, holds_of, describe_op};
  static constexpr consort_threads threads = {sizeof(consort_threads), 0, [](const consort_host *h) {
                                                const ThreadState *t = runtime_of(host_user(h)).this_thread_if_any();
                                                return t ? number_of(t->seat) : CONSORT_NONE;
                                              }};
  if (!id) return nullptr;
  if (std::strcmp(id, CONSORT_THREADS_ID) == 0) return &threads;
  if (std::strcmp(id, CONSORT_BODIES_ID) == 0) return &bodies;
  if (std::strcmp(id, CONSORT_BOOT_ID) == 0) return boot_service(runtime_of(user));
  return std::strcmp(id, CONSORT_SCHED_ID) == 0 ? sched_services() : nullptr;
}
uint64_t now(void *user) { return runtime_of(user).clock.now(); }

void completed(void *user, uint64_t token, const consort_done *done, uint32_t n) {
  Runtime &rt = runtime_of(user);
  if (rt.memory.completed(token, done, n)) return;
  if (LinkBenchmark *p = rt.benchmark.load(std::memory_order_acquire); p && token == LinkBenchmark::kToken)
    p->completed(done, n);
  else if (token >= 1 && token <= rt.queues.size()) rt.executors[rt.queues[token - 1]->worker_id()]->queue->completed(done, n);
}

void event(void *user, uint32_t what, uint64_t object, int64_t detail) {
  if (what == CONSORT_EV_DEVICE_LOST && object) runtime_of(user).lost.add(static_cast<uint32_t>(object - 1));  // its token
  if (what == CONSORT_EV_PEER_LOST || what == CONSORT_EV_PEER_UP)
    if (Job *job = runtime_of(user).joining.load(std::memory_order_acquire); job && object == Connection::kToken)
      return job->event(what, static_cast<uint32_t>(detail));
  static constexpr const char *kNames[] = {
      "", "a device is lost", "a device is up", "a peer is lost", "a peer is up", "a capacity has changed"};
  runtime_of(user).log(what == CONSORT_EV_DEVICE_LOST ? 0 : 2,
                       std::string(what < std::size(kNames) ? kNames[what] : "unknown event") + " (object " +
                           std::to_string(object) + ", detail " + std::to_string(detail) + ")");
}

}  // namespace

// -- life -----------------------------------------------------------------------------------------------------

Runtime::Runtime(uint64_t n, std::shared_ptr<Config> c) : DataManagement(n, std::move(c)) {
  set_graph_kinds(kinds);
  set_replay_kinds(kinds);
  set_message_kind(kinds);
  set_checkpoint_kind(kinds);
  window_wait = make_window_wait();
  put_off_ends = make_put_off_ends();
  idle_stepper = &idle_pump;
  data_keepers = &recordings;
}

Result<std::unique_ptr<Runtime>> Runtime::start(const consort_settings *settings) {
  auto config = Config::load(settings);
  if (!config) return config.error();
  std::unique_ptr<Runtime> rt(new Runtime(process::next_number(), *config));
  process::enter(rt->number);
  if (auto r = rt->open(settings); !r) return r.error();
  return rt;
}

Result<void> Runtime::open(const consort_settings *settings) {
  static constexpr const char *kLevels[] = {"error", "warn", "info", "debug"};
  log_to = {settings ? settings->log : nullptr, settings ? settings->log_user : nullptr, kLogWarn};
  for (int32_t i = 0; i < 4; ++i)
    if (config->text("log") == kLevels[i]) log_to.level = i;
  window = static_cast<uint32_t>(config->number("window"));
  bypass = static_cast<uint32_t>(config->number("bypass"));
  spin_rounds = static_cast<uint32_t>(config->number("spin_us")) * 60 + 1;
  spin_ns = static_cast<uint64_t>(config->number("spin_us")) * 1000;
  virtual_time = config->text("time") == "virtual";
  manual = virtual_time || config->text("pump") == "manual";
  detect_repeats = config->flag("detect_repeats");
  profile = config->flag("profile");
  return_batch = window ? std::clamp(uint32_t{window} / 8, 1u, 64u) : 64;
  if (!tasks.reserve(kTaskSlots))
    return error(CONSORT_E_NOMEM, "no address space for task records: raise the limit on virtual memory");
  if (!groups.usable()) return error(CONSORT_E_NOMEM, "no memory for the default group");
  if (auto r = data.open(); !r) return r.error();
  if (auto r = plans.open(); !r) return r.error();

  Core *const user = this;  // scheduling_of() casts it back
  const HostHooks hooks{user, service, now, completed, event};
  codelet_host = std::make_unique<Host>(HostHooks{user, nullptr, now, nullptr, nullptr},
                                        log_to, nullptr, "codelet");
  auto found = Registry::open(config, hooks, log_to.sink, log_to.user, settings ? settings->modules : nullptr,
                              settings ? settings->nmodules : 0,
                              settings ? Registry::Admission{settings->admit, settings->admit_user} : Registry::Admission{nullptr, nullptr});
  if (!found) return found.error();
  registry = std::move(*found);
  auto drivers = registry->load_drivers();
  if (!drivers) return drivers.error();
  for (const Plugin *d : *drivers)
    if (virtual_time && !(d->manifest->flags & CONSORT_PF_VIRTUAL))
      return error(CONSORT_E_UNSUPPORTED,
                   config->origin("time") + ": driver '" + std::string(d->manifest->name) +
                       "' keeps to the world's time, and time = \"virtual\": name in `drivers` only "
                       "drivers that simulate");
  for (const Plugin *d : *drivers) {
    const auto get = d->manifest->get;
    const auto *times = get ? static_cast<const consort_times *>(get(d->self, CONSORT_TIMES_ID)) : nullptr;
    if (virtual_time && times && CONSORT_HAS_FN(times, consort_times, submit_ns))
      submit_ns = std::max(submit_ns, times->submit_ns(d->self));
    if (virtual_time && times && CONSORT_HAS_FN(times, consort_times, drop_ns)) drop_ns = std::max(drop_ns, times->drop_ns(d->self));
  }
  auto machine = Topology::open(*drivers, log_to, config->flag("device_cores"));
  if (!machine) return machine.error();
  topology = std::move(*machine);
  settle_figures(*this);
  if (auto r = memory.open(); !r) return r.error();
  for (const Plugin *d : *drivers)
    log(2, "driver \"" + std::string(d->manifest->name) + "\" offers " + topology->offer(*d));
  std::string by_default;
  for (const Plugin *d : *drivers)
    if (d->by_default) by_default += (by_default.empty() ? "" : ", ") + std::string(d->manifest->name);
  log(2, "units in use: " + topology->count_units() +
             (by_default.empty() ? "" : "; found by default: " + by_default + " (`drivers` says which to use)"));
  auto scheduler = registry->load(CONSORT_KIND_SCHEDULER, config->text("scheduler"));
  if (!scheduler) {
    if (auto named = registry->check_names(); !named) return named.error();
    return scheduler.error();
  }
  if (auto r = reports.open(*registry, *config); !r) return r.error();
  if (auto r = config->check_unused(); !r) return r.error();
  return open_workers(**scheduler);
}

Result<void> Runtime::open_workers(Plugin &scheduler) {
  const auto &units = topology->units();
  if (units.size() > kMaxWorkers)
    return error(CONSORT_E_UNSUPPORTED, std::to_string(units.size()) + " units, 1024 are the most: limit the drivers");
  sleeper_words = static_cast<uint32_t>((units.size() + 63) / 64);
  std::vector<int> used;
  for (const Unit &u : units) {
    executors.push_back(std::make_unique<Executor>(*this, u.desc.id, u));
    workers.push_back(executors.back().get());
    for (size_t i = 0; i < u.cpuset.size() * 64; ++i)
      if (u.cpuset[i / 64] >> (i % 64) & 1) used.push_back(static_cast<int>(i));
  }
  if (!used.empty()) {
    auto lease = claim(used, config->text("core_conflict") == "refuse", "runtime #" + std::to_string(number));
    if (!lease) return error(lease.error().status, config->origin("core_conflict") + ": " + lease.error().text);
    cores = std::move(*lease);
    if (!cores.sharing().empty()) log(2, "runtime #" + std::to_string(number) + " " + std::string(cores.sharing()));
  }
  uint8_t domains = 0;
  for (auto &w : executors) {
    copies_are_moved |= w->has_queue || !(w->reach >> topology->home() & 1);
    if (w->unit.desc.flags & CONSORT_UNIT_INLINE) {
      inline_classes |= uint64_t{1} << w->klass;
      continue;
    }
    auto q = Queue::open(*this, *w, static_cast<uint16_t>(queues.size()));
    if (!q) return q.error();
    // Queues that can wait for one another share a domain; any other in-order queue has its own. On a unit with depth 1
    // nothing is gained by issuing behind a task: the policy may choose a better one.
    if ((*q)->in_order() && w->unit.desc.depth > 1) {
      const auto peer = std::find_if(executors.begin(), executors.end(), [&](const auto &other) {
        const Queue *p = other->queue.get();
        return p && p->waits_for_tickets() && (*q)->waits_for_tickets() && p->sync() == (*q)->sync() &&
               other->unit.device->plugin == w->unit.device->plugin &&
               // else the kernel copies in between, which waits for no ticket
               other->unit.desc.space == w->unit.desc.space;
      });
      if (peer != executors.end()) shared_domains = true;
      if (peer != executors.end()) (*q)->join_domain((*peer)->queue->domain());
      else if (domains < kMixed - 1) (*q)->join_domain(++domains);
    }
    queues.push_back(q->get());
    w->queue = std::move(*q);
  }
  auto teams = find_teams(*config, *topology);
  if (!teams) return teams.error();
  topology->set_teams(std::move(teams->teams));
  gangs.open(teams->one_at_a_time);
  models->open();
  ticks = TickClock::choose(clock);
  if (auto opened = Tracer::open(*this); opened) tracer = std::move(*opened);
  else return opened.error();
  run_observer = tracer.get();
  if (watched) watched->follow(tracer.get()), run_observer = watched.get();
  if (tracer) traced = tracer->categories();
  graph_observer = tracer ? tracer->graph() : nullptr;
  if (auto r = policies.open(*this, scheduler); !r) return r.error();
  if (tracer)
    if (auto r = tracer->begin(); !r) return r.error();
  const auto patience = static_cast<uint64_t>(config->number("watchdog"));
  if (auto r = watchdog.begin(patience, [this] { return describe_standstill(*this); }); !r) return r.error();
  if (auto r = progress.begin(config->flag("progress")); !r) return r.error();
  if (manual) return {};
  if (auto r = memory.start_threads(); !r) return r.error();
  for (auto &w : executors)
    if (auto r = w->start_thread(); !r) return r.error();
  return {};
}

Runtime::~Runtime() {
  watchdog.end();
  progress.end();
  idle_pump.end();
  checkpoints.reset();
  job.reset();  // the other ranks are told
  stopping.store(true, std::memory_order_seq_cst);
  for (auto &w : executors) w->tell_threads_to_stop();
  for (auto &w : executors) w->join();
  memory.stop_threads();  // they are the last that may access a worker
  process::leave(number);
  if (tracer) tracer->close();
  reports.tell_all(*this);
  policies.close();
  models->close();
  // graphs are destroyed first
  for (uint32_t i = 0; i < Recordings::kMost && recordings.at(i); ++i) recordings.at(i)->captured.reset();
  workers.clear();
  executors.clear();
  if (topology) {
    plans.close();
    data.close();
  }
  run_observer = nullptr;
  memory.close();
  pinned.close();
  topology.reset();
}

}  // namespace consort
