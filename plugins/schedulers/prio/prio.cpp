// prio.cpp — one queue by priority: the most urgent task starts next, among equals the one that became ready first.
//
// Any thread may push, a worker's owner pops; both take the instance's spin lock for as long as a walk down a tree
// takes, and nothing is called while it is held. Tasks are linked through sched[], so nothing is allocated after
// create(). With several unit classes there is a heap per set of classes (`where`), and a worker takes the most
// urgent of those that it can run. What is the most urgent is published to the kernel, so that a less urgent
// successor goes through the queue.
#include <consort/scheduler.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "heap.hpp"

namespace prio {
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

struct Queue {
  uint64_t where = 0;  // the classes that can run all of these
  Heap heap;
};

constexpr uint32_t kSets = 64, kQueues = kSets + 64 + 1;  // room for each class alone, and for none, in any case

struct Instance {
  Instance(const consort_host *h, const consort_topology &t, uint64_t e) : host(h), epoch(e) {
    urgency.reset(new std::atomic<int32_t>[t.nclasses ? t.nclasses : 1]);
    look(t);
    publish();
  }

  // All guarded by the lock but `waiting` and `inside`.
  SpinLock lock;
  const consort_host *host;
  uint64_t epoch;
  uint32_t nqueues = 0, nclasses = 1;
  Queue queues[kQueues];
  std::unique_ptr<std::atomic<int32_t>[]> urgency;  // by class; stored under the lock, read by the kernel without
  std::vector<uint32_t> klass;           // by worker
  std::vector<char> member;              // by worker
  std::vector<uint64_t> candidates;      // [class][word]
  uint32_t words = 0;
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
    for (uint32_t w = 0; w < member.size(); ++w)
      if (member[w] && klass[w] < nclasses) candidates[uint64_t{klass[w]} * words + w / 64] |= uint64_t{1} << w % 64;
  }

  // There is a queue for each set of classes that occurs; past kSets of them a set is cut to its first class.
  Queue &queue_of(uint64_t where) noexcept {
    where = nclasses == 1 ? 1 : where & all_classes();
    for (bool cut = false;; cut = true, where &= 0 - where) {
      for (uint32_t i = 0; i < nqueues; ++i)
        if (queues[i].where == where) return queues[i];
      if (nqueues >= kSets && !cut) continue;
      queues[nqueues].where = where;
      return queues[nqueues++];
    }
  }
  uint64_t all_classes() const noexcept { return ~uint64_t{0} >> (64 - nclasses); }

  void append(consort_task *task) noexcept { queue_of(task->where).heap.push(task); }

  // The most urgent that one of the classes can run.
  consort_task *take(uint64_t classes) noexcept {
    Queue *best = nullptr;
    for (uint32_t i = 0; i < nqueues; ++i) {
      Queue &q = queues[i];
      if ((q.where & classes) && !q.heap.empty() && (!best || q.heap.top() > best->heap.top())) best = &q;
    }
    return best ? best->heap.pop() : nullptr;
  }

  void publish() noexcept {
    for (uint32_t c = 0; c < nclasses; ++c) {
      int32_t most = INT32_MIN;
      for (uint32_t i = 0; i < nqueues; ++i)
        if ((queues[i].where >> c & 1) && !queues[i].heap.empty()) most = std::max(most, queues[i].heap.top());
      urgency[c].store(most, std::memory_order_relaxed);  // pairs with the kernel's relaxed load: a hint
    }
  }

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
    return host->fail(host, CONSORT_E_NOMEM, "prio: out of memory");
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
                          "prio: a worker was added that is not in the topology; pass the newer snapshot");
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
  return status < 0 ? i.host->fail(i.host, status, "prio: out of memory for the workers") : status;
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
  i.publish();
  if (open)
    i.waiting.store(i.waiting.load(std::memory_order_relaxed) + p->n, std::memory_order_release);  // pairs with pop()
  i.lock.unlock();
  return open ? p->n : 0;
}

// One at a time, whatever is asked for: what comes later may be more urgent.
uint32_t pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  Instance &i = self(s);
  const Visit visit(i);
  if (max == 0 || i.waiting.load(std::memory_order_acquire) == 0) return 0;  // pairs with push()
  consort_task *task = nullptr;
  i.lock.lock();
  if (worker < i.member.size() && i.member[worker]) {
    task = i.take(i.nclasses == 1 ? ~uint64_t{0} : uint64_t{1} << i.klass[worker]);
    i.waiting.store(i.waiting.load(std::memory_order_relaxed) - (task != nullptr), std::memory_order_relaxed);
    i.publish();
  }
  i.lock.unlock();
  if (!task) return 0;
  *out = {task, CONSORT_NONE, CONSORT_NONE};
  return 1;
}

uint32_t drain(void *s, uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  Instance &i = self(s);
  uint32_t n = 0;
  i.lock.lock();
  i.epoch = epoch;
  while (n < max && (out[n] = i.take(~uint64_t{0}))) ++n;
  i.waiting.store(i.waiting.load(std::memory_order_relaxed) - n, std::memory_order_relaxed);
  i.publish();
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

const int32_t *urgency(void *s, uint32_t worker) noexcept {
  static_assert(sizeof(std::atomic<int32_t>) == sizeof(int32_t) && std::atomic<int32_t>::is_always_lock_free);
  Instance &i = self(s);
  return reinterpret_cast<const int32_t *>(
      &i.urgency[worker < i.klass.size() && i.klass[worker] < i.nclasses ? i.klass[worker] : 0]);
}

consort_status plugin_init(const consort_host *, void **out) noexcept {
  *out = nullptr;
  return CONSORT_OK;
}
consort_status plugin_quiesce(void *, uint64_t) noexcept { return CONSORT_OK; }
void plugin_fini(void *) noexcept {}

constexpr consort_scheduler_ops ops = {
    .size = sizeof(consort_scheduler_ops), .flags = 0,
    .create = create, .destroy = destroy, .workers = workers, .push = push, .pop = pop, .drain = drain,
    .quiesce = quiesce, .submitted = nullptr, .adopt = nullptr, .dropped = nullptr, .started = nullptr,
    .finished = nullptr, .flush = nullptr, .urgency = urgency, .victim = nullptr, .next_event = nullptr,
};

#define PRIO_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = PRIO_FLAGS, .name = "prio", .version = "0.1.0",
    .summary = "one queue, the most urgent first", .license = "Apache-2.0", .params = nullptr, .nparams = 0,
    .reserved = 0, .ops = &ops, .init = plugin_init, .quiesce = plugin_quiesce, .fini = plugin_fini, .get = nullptr,
};

}  // namespace
}  // namespace prio

CONSORT_MODULE(prio, SCHEDULER, PRIO_FLAGS, "prio", "0.1.0", prio::plugin);
