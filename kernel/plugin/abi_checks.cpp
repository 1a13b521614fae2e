#include "plugin/abi_checks.hpp"

#include <consort/handles.h>
#include <consort/nearby.h>
#include <consort/times.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "plugin/host.hpp"

namespace consort {
namespace {

constexpr const char *kControl = "[control]", *kWorker = "[worker]", *kQueue = "[queue]", *kAny = "[any]", *kLoad = "[load]";
constexpr uint32_t kNeverSaid = CONSORT_NONE - 1;
constexpr uint64_t kLoud = 8;      // violations of one plugin that are logged; the rest is counted
constexpr uint32_t kSpare = 64;    // workers that may come after a policy was created

thread_local uint32_t worker_of_thread = kNeverSaid;

// The plugin call that this thread is in, innermost first.
struct Call {
  ThreadTagChecks &watch;
  const char *function, *tag;
  const Call *outer;
};
thread_local const Call *innermost = nullptr;

class Inside {
 public:
  Inside(ThreadTagChecks &watch, const char *function, const char *tag) : call_{watch, function, tag, innermost} {
    innermost = &call_;
  }
  ~Inside() { innermost = call_.outer; }
  Inside(const Inside &) = delete;

 private:
  Call call_;
};

class Control {
 public:
  Control(ThreadTagChecks &watch, const char *function)
      : watch_(watch), entered_(watch.enter_control(function)), inside_(watch, function, kControl) {}
  ~Control() { watch_.leave_control(entered_); }
  Control(const Control &) = delete;

 private:
  ThreadTagChecks &watch_;
  const bool entered_;
  Inside inside_;
};

// One thread at a time; acquire and release pair with one another.
class Alone {
 public:
  Alone(ThreadTagChecks &watch, std::atomic<bool> &busy, const char *function, const char *tag)
      : busy_(busy), entered_(!busy.exchange(true, std::memory_order_acquire)), inside_(watch, function, tag) {
    if (!entered_) watch.violation(function, tag, "entered by two threads at once");
  }
  ~Alone() { if (entered_) busy_.store(false, std::memory_order_release); }
  Alone(const Alone &) = delete;

 private:
  std::atomic<bool> &busy_;  // see Alone
  const bool entered_;
  Inside inside_;
};

// Answered more than it may: says so, and cuts it.
uint32_t at_most(ThreadTagChecks &watch, uint32_t n, uint32_t max, const char *function, const char *tag) {
  if (n <= max) return n;
  watch.violation(function, tag, "answered " + std::to_string(n) + " where at most " + std::to_string(max) + " fit");
  return max;
}

// -- schedulers --------------------------------------------------------------------------------------------------

struct WatchedPolicy {
  ThreadTagChecks &watch;
  const consort_scheduler_ops &ops;
  void *s;
  uint32_t nseats;
  std::unique_ptr<std::atomic<bool>[]> seats;  // a worker's functions are being called: see Alone
  std::atomic<bool> beyond{false};             // for workers without a seat: never looked at; relaxed

  std::atomic<bool> &seat(uint32_t worker) {
    beyond.store(false, std::memory_order_relaxed);
    return worker < nseats ? seats[worker] : beyond;
  }
  void check_owner(uint32_t worker, const char *function) {
    if (worker_of_thread != kNeverSaid && worker_of_thread != worker)
      watch.violation(function, kWorker,
                      "for worker " + std::to_string(worker) + " called by a thread that drives " +
                          (worker_of_thread == CONSORT_NONE ? "none" : "worker " + std::to_string(worker_of_thread)));
  }
};
WatchedPolicy &policy(void *s) { return *static_cast<WatchedPolicy *>(s); }

consort_status create(void *self, const consort_host *host, const consort_topology *topology, uint64_t epoch,
                      void **out) {
  ThreadTagChecks &watch = *Host::of(host).watch;
  const consort_scheduler_ops &ops = *watch.scheduler();
  const uint32_t n = topology->nworkers + topology->nteams + kSpare;
  std::unique_ptr<WatchedPolicy> p(new (std::nothrow) WatchedPolicy{watch, ops, nullptr, n, nullptr});
  if (p) p->seats.reset(new (std::nothrow) std::atomic<bool>[n]());
  if (!p || !p->seats) return host->fail(host, CONSORT_E_NOMEM, "no memory to watch a scheduler");
  const Control control(watch, "create");
  const consort_status status = ops.create(self, host, topology, epoch, &p->s);
  if (status >= 0) *out = p.release();
  return status;
}

void destroy(void *s) {
  const std::unique_ptr<WatchedPolicy> p(&policy(s));
  const Control control(p->watch, "destroy");
  p->ops.destroy(p->s);
}

consort_status workers(void *s, const consort_topology *t, const uint32_t *add, uint32_t na, const uint32_t *del,
                       uint32_t nd) {
  WatchedPolicy &p = policy(s);
  const Control control(p.watch, "workers");
  return p.ops.workers(p.s, t, add, na, del, nd);
}

uint32_t push(void *s, const consort_push *what) {
  WatchedPolicy &p = policy(s);
  const Inside inside(p.watch, "push", kAny);
  const uint32_t taken = p.ops.push(p.s, what);
  if (taken != 0 && taken != what->n)
    p.watch.violation("push", kAny,
                      "took " + std::to_string(taken) + " of " + std::to_string(what->n) + " tasks: all or none");
  return std::min(taken, what->n);
}

uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) {
  WatchedPolicy &p = policy(s);
  p.check_owner(worker, "pop");
  const Alone alone(p.watch, p.seat(worker), "pop", kWorker);
  const uint32_t n = at_most(p.watch, p.ops.pop(p.s, worker, out, max), max, "pop", kWorker);
  for (uint32_t i = 0; i < n; ++i)
    if (!out[i].task) return p.watch.violation("pop", kWorker, "picked no task at " + std::to_string(i)), i;
  return n;
}

uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) {
  WatchedPolicy &p = policy(s);
  const Control control(p.watch, "drain");
  return at_most(p.watch, p.ops.drain(p.s, epoch, out, max), max, "drain", kControl);
}

consort_status quiesce(void *s, uint64_t deadline_ns) {
  WatchedPolicy &p = policy(s);
  const Control control(p.watch, "quiesce");
  return p.ops.quiesce(p.s, deadline_ns);
}

void submitted(void *s, const consort_task *const *tasks, uint32_t n) {
  const Inside inside(policy(s).watch, "submitted", kAny);
  policy(s).ops.submitted(policy(s).s, tasks, n);
}

void adopt(void *s, const consort_task *const *tasks, uint32_t n) {
  const Control control(policy(s).watch, "adopt");
  policy(s).ops.adopt(policy(s).s, tasks, n);
}

uint32_t dropped(void *s, consort_task *const *tasks, uint32_t n, consort_task **held) {
  WatchedPolicy &p = policy(s);
  const Inside inside(p.watch, "dropped", kAny);
  return at_most(p.watch, p.ops.dropped(p.s, tasks, n, held), n, "dropped", kAny);
}

void started(void *s, uint32_t worker, const consort_task *const *tasks, uint32_t n) {
  WatchedPolicy &p = policy(s);
  p.check_owner(worker, "started");
  const Alone alone(p.watch, p.seat(worker), "started", kWorker);
  p.ops.started(p.s, worker, tasks, n);
}

void finished(void *s, uint32_t worker, const consort_done *done, uint32_t n) {
  WatchedPolicy &p = policy(s);
  p.check_owner(worker, "finished");
  const Alone alone(p.watch, p.seat(worker), "finished", kWorker);
  p.ops.finished(p.s, worker, done, n);
}

void flush(void *s) {
  const Inside inside(policy(s).watch, "flush", kAny);
  policy(s).ops.flush(policy(s).s);
}

const int32_t *urgency(void *s, uint32_t worker) {
  const Control control(policy(s).watch, "urgency");
  return policy(s).ops.urgency(policy(s).s, worker);
}

uint32_t victim(void *s, uint32_t space, uint64_t bytes, const consort_replica *r, uint32_t n, uint32_t *order) {
  WatchedPolicy &p = policy(s);
  const Inside inside(p.watch, "victim", kAny);
  const uint32_t m = at_most(p.watch, p.ops.victim(p.s, space, bytes, r, n, order), n, "victim", kAny);
  for (uint32_t i = 0; i < m; ++i)
    if (order[i] >= n)
      return p.watch.violation("victim", kAny,
                               "named replica " + std::to_string(order[i]) + " of " + std::to_string(n)),
             i;
  return m;
}

uint64_t policy_next_event(void *s) {
  const Inside inside(policy(s).watch, "next_event", kAny);
  return policy(s).ops.next_event(policy(s).s);
}

const char *direct(void *s, const consort_overview *o) {
  const Control control(policy(s).watch, "direct");
  return policy(s).ops.direct(policy(s).s, o);
}

void wrap_table(consort_scheduler_ops &t) {
  t.create = create, t.destroy = destroy, t.workers = workers, t.push = push, t.pop = pop, t.drain = drain,
  t.quiesce = quiesce;
  const auto hook = [](auto &slot, auto watched) { if (slot) slot = watched; };
  hook(t.submitted, submitted), hook(t.adopt, adopt), hook(t.dropped, dropped), hook(t.started, started);
  hook(t.finished, finished), hook(t.flush, flush), hook(t.urgency, urgency), hook(t.victim, victim);
  hook(t.next_event, policy_next_event), hook(t.direct, direct);
}

// -- drivers: self, devices and queues are wrapped, as their functions get nothing else -----------------------------

struct Driver {
  ThreadTagChecks &watch;
  const consort_driver_ops &ops;
  void *self;
  const void *(*get)(void *, const char *);  // may be NULL
  const consort_times *times = nullptr;      // once asked for
  const consort_nearby *nearby = nullptr;
  const consort_handles *handles = nullptr;
};
struct Wrapped {
  Driver &driver;
  void *dev;
  std::atomic<bool> loading{false};  // see Alone
};
struct WatchedQueue {
  Driver &driver;
  void *q;
  std::atomic<bool> busy{false};  // see Alone
};
Wrapped &device(void *d) { return *static_cast<Wrapped *>(d); }
WatchedQueue &queue(void *q) { return *static_cast<WatchedQueue *>(q); }

uint32_t count(void *self) {
  Driver &d = *static_cast<Driver *>(self);
  const Control control(d.watch, "count");
  return d.ops.count(d.self);
}

consort_status open(void *self, uint32_t index, uint64_t token, void **out) {
  Driver &d = *static_cast<Driver *>(self);
  std::unique_ptr<Wrapped> w(new (std::nothrow) Wrapped{d, nullptr});
  if (!w) return CONSORT_E_NOMEM;
  const Control control(d.watch, "open");
  const consort_status status = d.ops.open(d.self, index, token, &w->dev);
  if (status >= 0) *out = w.release();
  return status;
}

void close(void *dev) {
  const std::unique_ptr<Wrapped> w(&device(dev));
  const Control control(w->driver.watch, "close");
  w->driver.ops.close(w->dev);
}

// [control] functions of a device that only hand on.
template <size_t N>
struct Name {
  char text[N] = {};
  constexpr Name(const char (&s)[N]) { std::copy_n(s, N, text); }
};
template <auto kMember, Name kName, class R, class... A>
R on_device(void *dev, A... a) {
  Driver &d = device(dev).driver;
  const Control control(d.watch, kName.text);
  return (d.ops.*kMember)(device(dev).dev, a...);
}
template <auto kMember, Name kName, class R, class... A>
void wrap_device(R (*consort_driver_ops::*)(void *, A...), consort_driver_ops &t) {
  if (t.*kMember) t.*kMember = on_device<kMember, kName, R, A...>;
}

consort_status queue_open(void *dev, uint32_t unit, uint64_t token, consort_queue_desc *desc, void **out) {
  Driver &d = device(dev).driver;
  std::unique_ptr<WatchedQueue> w(new (std::nothrow) WatchedQueue{d, nullptr});
  if (!w) return CONSORT_E_NOMEM;
  const Control control(d.watch, "queue_open");
  const consort_status status = d.ops.queue_open(device(dev).dev, unit, token, desc, &w->q);
  if (status >= 0) *out = w.release();
  return status;
}

void queue_close(void *q) {
  const std::unique_ptr<WatchedQueue> w(&queue(q));
  const Control control(w->driver.watch, "queue_close");
  w->driver.ops.queue_close(w->q);
}

consort_status load_impl(void *dev, const char *format, const void *text, uint64_t n, const char *entry,
                         uint64_t *code) {
  Driver &d = device(dev).driver;
  const Alone alone(d.watch, device(dev).loading, "load_impl", kLoad);
  return d.ops.load_impl(device(dev).dev, format, text, n, entry, code);
}

uint32_t submit(void *q, const consort_op *ops, uint32_t n) {
  Driver &d = queue(q).driver;
  const Alone alone(d.watch, queue(q).busy, "submit", kQueue);
  return at_most(d.watch, d.ops.submit(queue(q).q, ops, n), n, "submit", kQueue);
}

uint32_t poll(void *q, consort_done *out, uint32_t max) {
  Driver &d = queue(q).driver;
  const Alone alone(d.watch, queue(q).busy, "poll", kQueue);
  return at_most(d.watch, d.ops.poll(queue(q).q, out, max), max, "poll", kQueue);
}

int32_t event_fd(void *q) {
  Driver &d = queue(q).driver;
  const Control control(d.watch, "event_fd");
  return d.ops.event_fd(queue(q).q);
}

consort_status arm(void *q) {
  Driver &d = queue(q).driver;
  const Alone alone(d.watch, queue(q).busy, "arm", kQueue);
  return d.ops.arm(queue(q).q);
}

uint64_t queue_next_event(void *q) {
  Driver &d = queue(q).driver;
  const Alone alone(d.watch, queue(q).busy, "next_event", kQueue);
  return d.ops.next_event(queue(q).q);
}

#define WRAP_DEVICE(f) wrap_device<&consort_driver_ops::f, #f>(&consort_driver_ops::f, t)
void wrap_table(consort_driver_ops &t) {
  t.count = count, t.open = open, t.close = close, t.queue_open = queue_open, t.queue_close = queue_close;
  t.submit = submit, t.poll = poll;
  if (t.load_impl) t.load_impl = load_impl;
  WRAP_DEVICE(space), WRAP_DEVICE(unit), WRAP_DEVICE(link), WRAP_DEVICE(alloc), WRAP_DEVICE(free);
  WRAP_DEVICE(attach), WRAP_DEVICE(detach), WRAP_DEVICE(codelet);
  if (t.event_fd) t.event_fd = event_fd;
  if (t.arm) t.arm = arm;
  if (t.next_event) t.next_event = queue_next_event;
}
#undef WRAP_DEVICE

// An extension's functions are given what is wrapped: those that are known here are handed on, others are not there.
double kernel_ns(void *dev, const consort_times_query *q) {
  const Wrapped &w = device(dev);
  const consort_times &t = *w.driver.times;
  return CONSORT_HAS_FN(&t, consort_times, kernel_ns) ? t.kernel_ns(w.dev, q) : NAN;
}

double team_ns(void *dev, const consort_times_query *q, uint32_t members) {
  const Wrapped &w = device(dev);
  const consort_times &t = *w.driver.times;
  return CONSORT_HAS_FN(&t, consort_times, team_ns) ? t.team_ns(w.dev, q, members) : NAN;
}

uint64_t submit_ns(void *self) {
  const Driver &d = *static_cast<Driver *>(self);
  const Control control(d.watch, "submit_ns");
  return CONSORT_HAS_FN(d.times, consort_times, submit_ns) ? d.times->submit_ns(d.self) : 0;
}

uint32_t nearby_set(void *dev, uint32_t i, uint32_t *units, uint32_t max) {
  const Wrapped &w = device(dev);
  const Control control(w.driver.watch, "set");
  return CONSORT_HAS_FN(w.driver.nearby, consort_nearby, set) ? w.driver.nearby->set(w.dev, i, units, max) : 0;
}

// [any]: nothing to watch.
template <auto kMember, class... A>
consort_status of_library(void *dev, const consort_call *call, const char *library, A... a) {
  const Wrapped &w = device(dev);
  const auto f = w.driver.handles->*kMember;
  return f ? f(w.dev, call, library, a...) : CONSORT_E_UNSUPPORTED;
}

const void *get(void *self, const char *id) {
  static constexpr consort_times times = {sizeof(consort_times), 0, kernel_ns, submit_ns, team_ns};
  static constexpr consort_nearby nearby = {sizeof(consort_nearby), 0, nearby_set};
  static constexpr consort_handles handles = {sizeof(consort_handles), 0, of_library<&consort_handles::handle>,
                                              of_library<&consort_handles::symbol>, of_library<&consort_handles::check>};
  Driver &d = *static_cast<Driver *>(self);
  const Control control(d.watch, "get");
  if (d.get && std::strcmp(id, CONSORT_NEARBY_ID) == 0) {
    d.nearby = static_cast<const consort_nearby *>(d.get(d.self, id));
    return d.nearby ? &nearby : nullptr;
  }
  if (d.get && std::strcmp(id, CONSORT_HANDLES_ID) == 0) {
    d.handles = static_cast<const consort_handles *>(d.get(d.self, id));
    return d.handles && CONSORT_HAS(d.handles, consort_handles, check) ? &handles : nullptr;
  }
  if (!d.get || std::strcmp(id, CONSORT_TIMES_ID) != 0) return nullptr;
  d.times = static_cast<const consort_times *>(d.get(d.self, id));
  return d.times ? &times : nullptr;
}

}  // namespace

// -- the watch -------------------------------------------------------------------------------------------------------

void set_current_worker(uint32_t worker) noexcept { worker_of_thread = worker; }
uint32_t current_worker() noexcept { return worker_of_thread == kNeverSaid ? CONSORT_NONE : worker_of_thread; }

consort_status ThreadTagChecks::wrap(Manifest &m, void **self) noexcept {
  if (m.plugin.kind == CONSORT_KIND_SCHEDULER) {
    theirs_.scheduler = m.ops.scheduler;
    wrap_table(m.ops.scheduler);
    m.plugin.get = [](void *, const char *) { return static_cast<const void *>(nullptr); };
  } else if (m.plugin.kind == CONSORT_KIND_DRIVER) {
    theirs_.driver = m.ops.driver;
    auto *d = new (std::nothrow) Driver{*this, theirs_.driver, *self, m.plugin.get};
    if (!d) return CONSORT_E_NOMEM;
    *self = d;
    wrap_table(m.ops.driver);
    m.plugin.get = get;
  }
  return CONSORT_OK;
}

void *ThreadTagChecks::unwrap(void *self) noexcept {
  if (host_.manifest->kind != CONSORT_KIND_DRIVER) return self;
  const std::unique_ptr<Driver> d(static_cast<Driver *>(self));
  return d->self;
}

bool ThreadTagChecks::enter_control(const char *function) noexcept {
  const auto me = reinterpret_cast<uintptr_t>(&worker_of_thread);  // differs from thread to thread
  uintptr_t who = 0;
  if (control_.compare_exchange_strong(who, me, std::memory_order_acquire) || who == me) return ++depth_, true;
  violation(function, kControl, "entered while another thread is inside a [control] function");
  return false;
}

void ThreadTagChecks::leave_control(bool entered) noexcept {
  if (entered && --depth_ == 0) control_.store(0, std::memory_order_release);
}

void ThreadTagChecks::violation(const char *function, const char *tag, const std::string &what) noexcept {
  if (count_.fetch_add(1, std::memory_order_relaxed) >= kLoud) return;
  try {
    host_.log.write(kLogError, "plugin \"" + host_.plugin + "\", " + function + " " + tag + ": " + what);
  } catch (...) {  // no memory to say it: it is counted
  }
}

void watch_host_call(const Host &host, const char *service) noexcept {
  const Call *call = innermost;
  if (!call || &call->watch != host.watch || call->tag == kControl) return;
  try {
    call->watch.violation(call->function, call->tag,
                          std::string("calls host->") + service + ", which only [control] functions may");
  } catch (...) {
  }
}

}  // namespace consort
