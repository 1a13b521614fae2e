#include "api/runtime.hpp"

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
#include "observe/tracer.hpp"
#include "task/callback.hpp"
#include "task/edges.hpp"

namespace consort {

thread_local constinit CurrentThread current_thread{0, nullptr};

namespace {

// of a worker's thread: for its whole life, and without an allocation
thread_local constinit CurrentThread own_thread{0, nullptr};

void abandon(ThreadState &thread) noexcept {
  thread.flush_records();
  thread.task = nullptr;
  thread.lease = nullptr;
  thread.recorder = nullptr;
  thread.watched &= ThreadState::kWatchedForRepeats;
  thread.watch.reset();
  thread.orphan.store(true, std::memory_order_release);  // pairs with the acquire in adopt_or_add()
}

// All states of this thread; leaves them behind when the thread ends. Under a pthread key, not thread_local: a
// destructor that cannot be registered for want of memory is an error there, and an abort here.
struct TaskLeftovers {
  struct Entry { uint64_t number; ThreadState *thread; };
  std::vector<Entry> entries;

  static TaskLeftovers *mine() noexcept { return static_cast<TaskLeftovers *>(pthread_getspecific(key())); }
  static TaskLeftovers &make() {  // may throw bad_alloc
    if (TaskLeftovers *b = mine()) return *b;
    auto b = std::make_unique<TaskLeftovers>();
    if (pthread_setspecific(key(), b.get())) throw std::bad_alloc();
    return *b.release();
  }
  ~TaskLeftovers() {
    current_thread = {0, nullptr};
    for (const Entry &e : entries) process::if_alive(e.number, abandon, *e.thread);
  }

 private:
  static pthread_key_t key() noexcept {
    static const pthread_key_t k = [] {
      pthread_key_t made{};
      pthread_key_create(&made, [](void *p) { delete static_cast<TaskLeftovers *>(p); });
      return made;
    }();
    return k;
  }
};

Runtime &runtime_of(void *user) { return *static_cast<Runtime *>(user); }

const void *service(void *, const consort_plugin *, const char *id) {
  return id && std::strcmp(id, CONSORT_SCHED_ID) == 0 ? sched_services() : nullptr;
}
uint64_t now(void *user) { return runtime_of(user).clock.now(); }

void completed(void *user, uint64_t token, const consort_done *done, uint32_t n) {
  Runtime &rt = runtime_of(user);
  if (rt.memory.completed(token, done, n)) return;
  if (LinkBenchmark *p = rt.probe.load(std::memory_order_acquire); p && token == LinkBenchmark::kToken)
    p->completed(done, n);
  else if (token >= 1 && token <= rt.queues.size()) rt.workers[rt.queues[token - 1]->worker_id()]->queue->completed(done, n);
}

void event(void *user, uint32_t what, uint64_t object, int64_t detail) {
  if (what == CONSORT_EV_DEVICE_LOST && object) runtime_of(user).lost.add(static_cast<uint32_t>(object - 1));  // its token
  static constexpr const char *kNames[] = {
      "", "a device is lost", "a device is up", "a peer is lost", "a peer is up", "a capacity has changed"};
  runtime_of(user).log(what == CONSORT_EV_DEVICE_LOST ? 0 : 2,
                       std::string(what < std::size(kNames) ? kNames[what] : "unknown event") + " (object " +
                           std::to_string(object) + ", detail " + std::to_string(detail) + ")");
}

}  // namespace

// -- thread states ------------------------------------------------------------------------------------------------

ThreadStates::~ThreadStates() {
  for (uint32_t i = 0; i < n_.load(std::memory_order_relaxed); ++i) delete all_[i].load(std::memory_order_relaxed);
}

ThreadState *ThreadStates::adopt_or_add(Runtime &rt, uint32_t batch) noexcept {
  std::lock_guard lock(mutex_);
  const uint32_t n = n_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < n; ++i) {
    ThreadState *thread = all_[i].load(std::memory_order_relaxed);
    bool orphan = true;
    if (thread->orphan.load(std::memory_order_relaxed) &&
        thread->orphan.compare_exchange_strong(orphan, false, std::memory_order_acquire))
      return thread;
  }
  if (n == kMost) return nullptr;
  ThreadState *thread = new (std::nothrow) ThreadState(rt, static_cast<uint16_t>(n), batch, rt.put_off_ends.get());
  if (!thread) return nullptr;
  if (rt.detect_repeats) thread->watched = ThreadState::kWatchedForRepeats;
  all_[n].store(thread, std::memory_order_release);
  n_.store(n + 1, std::memory_order_release);
  return thread;
}

ThreadState *Runtime::find_thread() noexcept {
  if (ThreadState *thread = this_thread_if_any()) return thread;
  ThreadState *thread = threads.adopt_or_add(*this, return_batch);
  if (!thread) {
    set_error(CONSORT_E_NOMEM,
              "no memory for this thread's part of the runtime, or more than 4096 threads use it at once");
    return nullptr;
  }
  try {
    adopt_thread(*this, *thread);
  } catch (const std::bad_alloc &) {
    abandon(*thread);
    set_error(CONSORT_E_NOMEM, "no memory for this thread's part of the runtime");
    return nullptr;
  }
  return thread;
}

ThreadState *Runtime::this_thread_if_any() const noexcept {
  if (current_thread.number == number) return current_thread.thread;
  if (own_thread.number == number) return (current_thread = own_thread).thread;
  if (const TaskLeftovers *b = TaskLeftovers::mine())
    for (const auto &e : b->entries)
      if (e.number == number) {
        current_thread = {e.number, e.thread};
        return e.thread;
      }
  return nullptr;
}

void adopt_thread(Runtime &rt, ThreadState &thread) {
  auto &entries = TaskLeftovers::make().entries;
  if (entries.size() >= 16) std::erase_if(entries, [](const auto &e) { return !process::is_alive(e.number); });
  entries.push_back({rt.number, &thread});
  current_thread = {rt.number, &thread};
  thread.stack = {};
}

ThreadState *worker_thread() noexcept { return own_thread.thread; }

void keep_thread(Runtime &rt, ThreadState &thread) noexcept {
  own_thread = current_thread = {rt.number, &thread};
  thread.stack = {};
}

// -- life -----------------------------------------------------------------------------------------------------

Runtime::Runtime(uint64_t n, std::shared_ptr<Config> c)
    : number(n), asymmetric(fence::asymmetric()), bias(kNobody), window_wait(make_window_wait()),
      put_off_ends(make_put_off_ends()), config(std::move(c)),
      clock(config->text("pump") == "manual" || config->text("time") == "virtual",
            static_cast<uint64_t>(config->number("seed"))),
      groups(*this),
      standard_group(groups.usable() ? &groups.standard() : nullptr), tags(*this), data(*this), memory(*this),
      pinned(*this), recordings(*this), plans(*this), copying(*this), models(std::make_unique<Models>(*this)), gangs(*this) {
  set_graph_kinds(kinds);
  set_replay_kinds(kinds);
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
  log_fn = settings ? settings->log : nullptr;
  log_user = settings ? settings->log_user : nullptr;
  for (int32_t i = 0; i < 4; ++i)
    if (config->text("log") == kLevels[i]) log_level = i;
  window = static_cast<uint32_t>(config->number("window"));
  bypass = static_cast<uint32_t>(config->number("bypass"));
  spin_rounds = static_cast<uint32_t>(config->number("spin_us")) * 60 + 1;
  virtual_time = config->text("time") == "virtual";
  manual = virtual_time || config->text("pump") == "manual";
  detect_repeats = config->flag("detect_repeats");
  profile = config->flag("profile");
  return_batch = window ? std::clamp(window / 8, 1u, 64u) : 64;
  if (!tasks.reserve(kTaskSlots))
    return error(CONSORT_E_NOMEM, "no address space for task records: raise the limit on virtual memory");
  if (!groups.usable()) return error(CONSORT_E_NOMEM, "no memory for the default group");
  if (auto r = data.open(); !r) return r.error();
  if (auto r = plans.open(); !r) return r.error();

  const HostHooks hooks{this, service, now, completed, event};
  codelet_host = std::make_unique<Host>(HostHooks{this, nullptr, now, nullptr, nullptr},
                                        Log{log_fn, log_user, log_level}, nullptr, "codelet");
  auto found = Registry::open(config, hooks, log_fn, log_user, settings ? settings->modules : nullptr,
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
                       "those that simulate");
  for (const Plugin *d : *drivers) {
    const auto get = d->manifest->get;
    const auto *times = get ? static_cast<const consort_times *>(get(d->self, CONSORT_TIMES_ID)) : nullptr;
    if (virtual_time && times && CONSORT_HAS_FN(times, consort_times, submit_ns))
      submit_ns = std::max(submit_ns, times->submit_ns(d->self));
  }
  auto machine = Topology::open(*drivers);
  if (!machine) return machine.error();
  topology = std::move(*machine);
  settle_figures(*this);
  if (auto r = memory.open(); !r) return r.error();
  for (const Plugin *d : *drivers)
    log(2, "driver \"" + std::string(d->manifest->name) + "\" offers " + topology->offer(*d));
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
    workers.push_back(std::make_unique<Worker>(*this, u.desc.id, u));
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
  for (auto &w : workers) {
    far_units |= !(w->reach >> topology->home() & 1);
    if (w->unit.desc.flags & CONSORT_UNIT_INLINE) {
      inline_classes |= uint64_t{1} << w->klass;
      continue;
    }
    auto q = Queue::open(*this, *w, static_cast<uint16_t>(queues.size()));
    if (!q) return q.error();
    // Queues that wait for one another share a domain; another in-order queue has its own. Behind what runs on a unit
    // that takes one task at a time nothing is gained by following: the policy may know a better one.
    if ((*q)->in_order() && w->unit.desc.depth > 1) {
      const auto peer = std::find_if(workers.begin(), workers.end(), [&](const auto &other) {
        const Queue *p = other->queue.get();
        return p && p->waits_for_tickets() && (*q)->waits_for_tickets() && p->sync() == (*q)->sync() &&
               other->unit.device->plugin == w->unit.device->plugin &&
               // else the kernel copies in between, which waits for no ticket
               other->unit.desc.space == w->unit.desc.space;
      });
      if (peer != workers.end()) shared_domains = true;
      if (peer != workers.end()) (*q)->join_domain((*peer)->queue->domain());
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
  if (auto traced = Tracer::open(*this); traced) tracer = std::move(*traced);
  else return traced.error();
  run_observer = tracer.get();
  graph_observer = tracer ? tracer->graph() : nullptr;
  if (auto r = policy.open(*this, scheduler); !r) return r.error();
  if (manual) return {};
  if (auto r = memory.start_threads(); !r) return r.error();
  for (auto &w : workers)
    if (auto r = w->start_thread(); !r) return r.error();
  return {};
}

Runtime::~Runtime() {
  idle_pump.end();
  stopping.store(true, std::memory_order_seq_cst);
  for (auto &w : workers) w->tell_threads_to_stop();
  for (auto &w : workers) w->join();
  memory.stop_threads();  // the last that may still be looking at a worker
  process::leave(number);
  if (tracer) tracer->close();
  reports.tell_all(*this);
  policy.close();
  models->close();
  for (uint32_t i = 0; i < Recordings::kMost && recordings.at(i); ++i) recordings.at(i)->captured.reset();  // graphs go first
  workers.clear();
  if (topology) {
    plans.close();
    data.close();
  }
  memory.close();
  pinned.close();
  topology.reset();
}

// -- sums and wakes ---------------------------------------------------------------------------------------------

uint64_t Runtime::submitted() const noexcept {  // a count on its way from turn to before is seen at least once
  uint64_t sum = 0;
  for_each_thread([&](const ThreadState &thread) {
    sum += thread.in.turn.load(std::memory_order_acquire) & Tally::kCount;
    sum += thread.in.before.load(std::memory_order_acquire);
  });
  return sum;
}

uint64_t Runtime::finished() const noexcept {  // at most once
  uint64_t sum = 0;
  for_each_thread([&](const ThreadState &thread) {
    sum += thread.out.before.load(std::memory_order_acquire);
    sum += thread.out.turn.load(std::memory_order_acquire) & Tally::kCount;
  });
  return sum;
}

void Runtime::wake(const consort_wake &want) noexcept {
  uint32_t k = want.k;
  for (uint32_t i = 0; i < sleeper_words && k; ++i) {
    uint64_t candidates = sleepers[i].load(std::memory_order_relaxed) & want.bits[i];
    for (; candidates && k; candidates &= candidates - 1) {
      const auto bit = static_cast<uint32_t>(__builtin_ctzll(candidates));
      const uint64_t mask = uint64_t{1} << bit;
      if (!(sleepers[i].fetch_and(~mask, std::memory_order_acq_rel) & mask)) continue;  // somebody else woke it
      if (Parker *p = workers[i * 64 + bit]->sleeping.exchange(nullptr, std::memory_order_acq_rel)) p->wake();
      --k;
    }
  }
}

void Runtime::choose_paths() noexcept {
  observed.store(profile || trace_fn || tracer || policy.observes() || models->in_use(), std::memory_order_relaxed);
  codelets.allow_short_way(!shared_domains && !policy.looks_ahead() && !graph_observer);
  keep_back.store(sleeper_words == 1 && !policy.keeps_order(), std::memory_order_relaxed);
}

// For a task that is unfinished and not running the list only grows at its head. For any other it may be walked
// and recycled under our eyes: the answer is nonsense then, but the walk stays inside the arena and ends.
uint32_t Runtime::successors(const Task &t, const consort_task **out, uint32_t max) const noexcept {
  constexpr uint32_t kLongest = 1 << 20;
  uint32_t n = 0;
  if (t.replayed()) {
    if (!t.recorded()) return 0;
    for (; n < node::successors(t) && n < max; ++n) out[n] = &tasks.at(node::edges(t)[n])->pub;
    return node::successors(t);
  }
  const uint32_t mask = (1u << word::kSlotBits) - 1;
  for (uint32_t link = word::link(t.word.load(std::memory_order_acquire)); link && n < kLongest; ++n) {
    if (!tasks.holds(link >> word::kSlotBits)) break;
    Task *record = tasks.at(link >> word::kSlotBits);
    const uint32_t slot = link & mask;
    auto *chunk = reinterpret_cast<LinkChunk *>(record);
    uint32_t &next = slot < 4              ? record->link[slot]
                     : slot < kInlineLinks ? reinterpret_cast<uint32_t *>(record->pub.sched)[slot - 4]
                                           : chunk->link[slot - kInlineLinks];
    const Task *successor = record;
    if (slot >= kInlineLinks) {
      const uint32_t owner = std::atomic_ref<uint32_t>(chunk->owner).load(std::memory_order_relaxed);
      if (!tasks.holds(owner)) break;
      successor = tasks.at(owner);
    }
    link = std::atomic_ref<uint32_t>(next).load(std::memory_order_relaxed);
    if (n < max) out[n] = &successor->pub;
  }
  return n;
}

void Runtime::log(int32_t level, const std::string &text) const noexcept {
  Log{log_fn, log_user, log_level}.wants(level) ? Log{log_fn, log_user, log_level}.write(level, text) : void();
}

}  // namespace consort
