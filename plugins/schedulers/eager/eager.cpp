// eager.cpp — one queue: tasks start in the order in which they became ready, on whoever comes first.
//
// Any thread may push, a worker's owner pops; both take the instance's spin lock for a handful of stores, and
// nothing is called while it is held. Tasks are linked through sched[0] and carry their arrival number in sched[1],
// so nothing is allocated after create(). With several unit classes there is a list per set of classes (`where`),
// and a worker takes the earliest of those that it can run: still one queue, without looking at what others run.
#include <consort/scheduler.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace eager {
namespace {

class SpinLock {  // innermost
 public:
  void lock() noexcept {
    for (uint32_t spins = 0; held_.exchange(1, std::memory_order_acquire);)  // pairs with unlock()
      while (held_.load(std::memory_order_relaxed)) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        if (++spins % 256 == 0) sched_yield();  // its holder may have lost its core
      }
  }
  void unlock() noexcept { held_.store(0, std::memory_order_release); }  // pairs with the exchange in lock()

 private:
  std::atomic<uint32_t> held_{0};
};

struct Fifo {
  uint64_t where = 0;  // the classes that can run all of these; the last list: mixed
  consort_task *head = nullptr, *tail = nullptr;
};

constexpr uint32_t kLists = 65;  // the last for the sets that come when 64 others have

struct Instance {
  Instance(const consort_host *h, const consort_topology &t, uint64_t e) : host(h), epoch(e) { look(t); }

  // All guarded by the lock but `waiting` and `inside`.
  SpinLock lock;
  const consort_host *host;
  uint64_t epoch;
  uint64_t arrivals = 0;
  uint32_t nlists = 0, nclasses = 1;
  Fifo lists[kLists];
  std::vector<uint32_t> klass;           // by worker
  std::vector<char> member;              // by worker
  std::vector<uint64_t> candidates;      // [class][word]
  uint32_t words = 0, nmembers = 0;
  bool chosen = false;                   // workers() has named members; until then all of the topology serve
  std::atomic<uint64_t> waiting{0};      // how many; read without the lock: an empty pop takes none
  std::atomic<uint32_t> inside{0};       // calls of push and pop in progress; pairs with quiesce()

  void look(const consort_topology &t) {
    nclasses = t.nclasses ? t.nclasses : 1;
    klass.resize(t.nworkers);
    member.resize(t.nworkers, !chosen);
    for (uint32_t w = 0; w < t.nworkers; ++w) klass[w] = t.workers[w].klass;
    count();
  }
  void count() {
    words = static_cast<uint32_t>(member.size() + 63) / 64;
    candidates.assign(uint64_t{nclasses} * words, 0);
    nmembers = 0;
    for (uint32_t w = 0; w < member.size(); ++w) {
      if (!member[w] || klass[w] >= nclasses) continue;
      candidates[uint64_t{klass[w]} * words + w / 64] |= uint64_t{1} << w % 64;
      ++nmembers;
    }
  }

  Fifo &list_of(uint64_t where) noexcept {
    if (nclasses == 1) where = 1;
    for (uint32_t i = 0; i < nlists; ++i)
      if (lists[i].where == where && i < kLists - 1) return lists[i];
    if (nlists < kLists) ++nlists;
    lists[nlists - 1].where = nlists < kLists ? where : ~uint64_t{0};
    return lists[nlists - 1];
  }

  void append(consort_task *task) noexcept {
    Fifo &l = list_of(task->where);
    task->sched[0] = nullptr;
    task->sched[1] = reinterpret_cast<void *>(++arrivals);
    if (l.head) l.tail->sched[0] = task;
    else l.head = task;
    l.tail = task;
  }

  // The earliest that one of the classes can run.
  consort_task *take(uint64_t classes) noexcept {
    Fifo *best = nullptr;
    consort_task *found = nullptr, *before = nullptr;
    for (uint32_t i = 0; i < nlists; ++i) {
      if (!(lists[i].where & classes)) continue;
      consort_task *previous = nullptr, *t = lists[i].head;
      if (i == kLists - 1)
        while (t && !(t->where & classes)) previous = t, t = static_cast<consort_task *>(t->sched[0]);
      if (!t || (found && arrival(found) < arrival(t))) continue;
      best = &lists[i], found = t, before = previous;
    }
    if (!found) return nullptr;
    auto *next = static_cast<consort_task *>(found->sched[0]);
    if (before) before->sched[0] = next;
    else best->head = next;
    if (best->tail == found) best->tail = before;
    return found;
  }
  static uint64_t arrival(const consort_task *t) noexcept { return reinterpret_cast<uint64_t>(t->sched[1]); }

  void announce(consort_wake *wake, uint64_t where, uint32_t self) const noexcept {
    if (!wake) return;
    for (uint32_t c = 0; c < nclasses; ++c)
      if (nclasses == 1 || (where >> c & 1))
        for (uint32_t i = 0; i < words && i < wake->nwords; ++i) wake->bits[i] |= candidates[uint64_t{c} * words + i];
    if (self / 64 < wake->nwords) wake->bits[self / 64] &= ~(uint64_t{1} << self % 64);
    ++wake->k;
  }
};

class Visit {  // of push and pop; seq_cst: pairs with quiesce(), which looks after the epoch has been set
 public:
  explicit Visit(Instance &i) noexcept : i_(i) { i_.inside.fetch_add(1, std::memory_order_seq_cst); }
  ~Visit() { i_.inside.fetch_sub(1, std::memory_order_release); }
  Visit(const Visit &) = delete;
  Visit &operator=(const Visit &) = delete;

 private:
  Instance &i_;
};

Instance &self(void *s) noexcept { return *static_cast<Instance *>(s); }

consort_status create(void *, const consort_host *host, const consort_topology *t, uint64_t epoch,
                      void **out) noexcept {
  try {
    *out = new Instance(host, *t, epoch);
    return CONSORT_OK;
  } catch (...) {
    return host->fail(host, CONSORT_E_NOMEM, "eager: out of memory");
  }
}

void destroy(void *s) noexcept { delete &self(s); }

// Until this is called, all workers of the topology given to create() serve. The first call that adds some of
// those says which ones do.
consort_status workers(void *s, const consort_topology *t, const uint32_t *add, uint32_t na, const uint32_t *del,
                       uint32_t nd) noexcept {
  Instance &i = self(s);
  for (uint32_t k = 0; k < na; ++k)
    if (add[k] >= t->nworkers)
      return i.host->fail(i.host, CONSORT_E_INVAL,
                          "eager: a worker was added that is not in the topology; pass the newer snapshot");
  consort_status status = CONSORT_OK;
  i.lock.lock();
  try {
    std::vector<char> member = i.member;
    if (!i.chosen && na > 0 && add[0] < member.size()) member.assign(member.size(), 0);
    member.resize(std::max<size_t>(member.size(), t->nworkers));
    for (uint32_t k = 0; k < na; ++k) member[add[k]] = 1;
    for (uint32_t k = 0; k < nd; ++k)
      if (del[k] < member.size()) member[del[k]] = 0;
    i.klass.resize(member.size());
    i.chosen = true;
    i.member.swap(member);
    i.look(*t);
  } catch (...) {
    status = CONSORT_E_NOMEM;
  }
  i.lock.unlock();
  return status < 0 ? i.host->fail(i.host, status, "eager: out of memory for the workers") : status;
}

uint32_t push(void *s, const consort_push *p) noexcept {
  Instance &i = self(s);
  const Visit visit(i);
  i.lock.lock();
  const bool open = i.epoch == p->epoch;
  for (uint32_t k = 0; open && k < p->n; ++k) {
    i.append(p->ready[k]);
    i.announce(p->wake, p->ready[k]->where, p->from);
  }
  if (open)
    i.waiting.store(i.waiting.load(std::memory_order_relaxed) + p->n, std::memory_order_release);  // pairs with pop()
  i.lock.unlock();
  return open ? p->n : 0;
}

uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  Instance &i = self(s);
  const Visit visit(i);
  if (i.waiting.load(std::memory_order_acquire) == 0) return 0;  // pairs with push()
  uint32_t n = 0;
  i.lock.lock();
  if (worker < i.member.size() && i.member[worker]) {
    const uint64_t classes = i.nclasses == 1 ? ~uint64_t{0} : uint64_t{1} << i.klass[worker];
    const uint64_t waiting = i.waiting.load(std::memory_order_relaxed);
    const uint64_t share = (waiting + i.nmembers - 1) / i.nmembers;  // what is taken here, nobody else starts
    while (n < max && n < share) {
      consort_task *task = i.take(classes);
      if (!task) break;
      out[n++] = {task, CONSORT_NONE, CONSORT_NONE};
    }
    i.waiting.store(waiting - n, std::memory_order_relaxed);
  }
  i.lock.unlock();
  return n;
}

uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  Instance &i = self(s);
  uint32_t n = 0;
  i.lock.lock();
  i.epoch = epoch;
  while (n < max && (out[n] = i.take(~uint64_t{0}))) ++n;
  i.waiting.store(i.waiting.load(std::memory_order_relaxed) - n, std::memory_order_relaxed);
  i.lock.unlock();
  return n;
}

consort_status quiesce(void *s, uint64_t deadline) noexcept {
  Instance &i = self(s);
  while (i.inside.load(std::memory_order_seq_cst)) {  // pairs with Visit
    if (deadline != CONSORT_NEVER && i.host->now(i.host) >= deadline) return CONSORT_E_TIMEOUT;
    sched_yield();
  }
  return CONSORT_OK;
}

// Cancelled or poisoned: those that are in here come out at once and not by pop.
uint32_t dropped(void *s, consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
  Instance &i = self(s);
  uint32_t nheld = 0;
  const Visit visit(i);
  i.lock.lock();
  for (uint32_t k = 0; k < n; ++k) {
    Fifo &l = i.list_of(tasks[k]->where);
    consort_task *before = nullptr;
    for (consort_task *t = l.head; t; before = t, t = static_cast<consort_task *>(t->sched[0])) {
      if (t != tasks[k]) continue;
      (before ? before->sched[0] : reinterpret_cast<void *&>(l.head)) = t->sched[0];
      if (l.tail == t) l.tail = before;
      held[nheld++] = t;
      break;
    }
  }
  i.waiting.store(i.waiting.load(std::memory_order_relaxed) - nheld, std::memory_order_relaxed);
  i.lock.unlock();
  return nheld;
}

consort_status plugin_init(const consort_host *, void **out) noexcept {
  *out = nullptr;
  return CONSORT_OK;
}
consort_status plugin_quiesce(void *, uint64_t) noexcept { return CONSORT_OK; }
void plugin_fini(void *) noexcept {}

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops), .flags = CONSORT_SF_NO_BYPASS,
    .create = create, .destroy = destroy, .workers = workers, .push = push, .pop = pop, .drain = drain,
    .quiesce = quiesce, .submitted = nullptr, .adopt = nullptr, .dropped = dropped, .started = nullptr,
    .finished = nullptr, .flush = nullptr, .urgency = nullptr, .victim = nullptr, .next_event = nullptr,
};

#define EAGER_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = EAGER_FLAGS, .name = "eager", .version = "0.1.0",
    .summary = "one queue, first come, first served", .license = "Apache-2.0", .params = nullptr, .nparams = 0,
    .reserved = 0, .ops = &ops, .init = plugin_init, .quiesce = plugin_quiesce, .fini = plugin_fini, .get = nullptr,
};

}  // namespace
}  // namespace eager

CONSORT_MODULE(eager, SCHEDULER, EAGER_FLAGS, "eager", "0.1.0", eager::plugin);
