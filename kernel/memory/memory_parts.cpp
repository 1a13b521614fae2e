#include "memory/memory_parts.hpp"

#include "exec/queue.hpp"
#include "graph/complete.hpp"
#include "memory/data_management.hpp"
#include "observe/tracer.hpp"

namespace consort {

MemoryParts::MemoryParts(Memory &memory, DataManagement &runtime)
    : rt(runtime), outlook(rt.tasks), cache(*rt.topology),
      order(rt.topology->spaces().size(), rt.topology->home(), outlook, rt.policy, rt.clock),
      records(*rt.topology, rt.data, cache, order), alias(*rt.topology, order, records), movers({*rt.topology, rt.clock, rt.virtual_time, rt.spin_rounds}, *this),
      transfers(*rt.topology, rt.clock, rt.tracer, movers, order),
      cost(*rt.topology, cache, order, movers, transfers),
      policy(rt.policy, cache, order, rt.topology->spaces().size()),
      eviction(*rt.topology, cache, order, outlook, records, transfers, movers, policy, rt.tracer),
      queue(memory, rt.topology->spaces().size()), hints(rt.tasks, rt.data, order, records, movers, cost, queue),
      fetches(*rt.topology, rt.data, cache, records, transfers, movers, eviction, policy, stagings, queue),
      admission(*rt.topology, rt.data, cache, order, records, transfers, eviction, policy, fetches, stagings),
      requests(rt.tasks, cache, records, movers, transfers, eviction, fetches, admission, queue),
      tasks(cache, outlook, records, eviction, stagings, admission, requests),
      host(*rt.topology, cache, records, stagings, admission),
      partitions(*rt.topology, cache, order, records, alias, admission, host), homes(*rt.topology, rt.data, records),
      report(rt, *rt.topology, cache, order, transfers, eviction, stagings, admission, queue) {}

Result<void> MemoryParts::open() {
  if (auto r = cache.open(*rt.config); !r) return r;
  save_ahead = static_cast<uint32_t>(rt.config->number("save_ahead"));
  uint64_t foreseen = 0;
  for (const Unit &u : rt.topology->units())
    if (cache.is_counted(u.desc.space)) foreseen |= uint64_t{1} << u.klass;
  rt.codelets.foresee(foreseen);
  if (auto r = movers.open(); !r) return r;
  cost.open();
  hints.open();
  return {};
}

void MemoryParts::close() noexcept {
  movers.stop_threads();
  cache.close();
  movers.close();
}

void MemoryParts::serve() noexcept {
  hints.take_up();
  admission.serve();
  fetches.retry();
  const auto n = static_cast<uint32_t>(rt.topology->spaces().size());
  for (uint32_t s = 0; s < n; ++s)
    if (!queue.waiting(s).empty()) requests.pursue(s);
  for (uint32_t s = 0; save_ahead && s < n; ++s)
    if (admission.waiting(s).empty()) eviction.save_ahead(s, save_ahead);
}

void MemoryParts::trace_use() noexcept {
  if (!rt.tracer) return;
  const auto n = static_cast<uint32_t>(rt.topology->spaces().size());
  for (uint32_t s = 0; s < n; ++s)
    if (const uint64_t now = cache.taken(s); cache.is_counted(s) && now != traced[s])
      rt.tracer->in_use(s, traced[s] = now, cache.limit(s));
}

void MemoryParts::release(ThreadState &thread, MemoryLock &lock) noexcept {
  if (policy.has_questions()) consult_policy(thread, lock);
  trace_use();
  StagingQueue ready = stagings.take_ready();
  lock.unlock();
  while (!ready.empty()) go_on(thread, *ready.pop_front());
}

void MemoryParts::consult_policy(const ThreadState &thread, MemoryLock &lock) noexcept {
  const auto n = static_cast<uint32_t>(rt.topology->spaces().size());
  while (policy.take_questions())  // serve() may find further questions
    for (uint32_t s = 0; s < n; ++s) {
      const StagingQueue &waiting = admission.waiting(s);
      std::string bad;
      // A thread that asks may come from the policy, and hold its locks.
      if (!policy.consult(lock, s, waiting.empty() ? nullptr : waiting.front(), eviction.saving(s), !thread.asking, &bad))
        continue;
      if (!bad.empty()) {
        lock.unlock();
        rt.log(kLogError, bad);
        lock.lock();
      }
      serve();
    }
}

// The staging may be destroyed once its task is resumed.
void MemoryParts::go_on(ThreadState &thread, Staging &s) noexcept {
  if (!s.worker) {
    resume_special(rt, thread, s.task);
    if (!thread.seat && !thread.in_callback) settle_down(rt, thread);
    return;
  }
  if (s.since) rt.tracer->fetched(s.task->pub.id, s.worker->id, s.since, rt.clock.now());
  s.worker->staging.fetch_sub(1, std::memory_order_relaxed);
  // A task issued behind others still needs its edges, which the mailbox would overwrite.
  if (s.task->bits & kFollowed)
    executor_of(*s.worker).queue->offer(s.task);
  else
    s.worker->post(s.task);
}

void MemoryParts::landed(ThreadState &thread, Transfer &t, consort_status status, MemoryLock &lock) noexcept {
  fetches.landed(t, status);
  serve();
  release(thread, lock);
  transfers.landed();
}

void MemoryParts::copied(ThreadState &thread, Transfer *t, consort_status status, const char *why) noexcept {
  MemoryLock lock(mutex);
  if (status < 0 && t->status >= 0) {
    t->status = status;
    try {
      t->why = why;
    } catch (const std::bad_alloc &) {  // then it is reported without the reason
    }
  }
  if (--t->outstanding == 0) landed(thread, *t, t->status, lock);
}

void MemoryParts::lost(const Device &d) noexcept { rt.lost.add(d); }
ThreadState *MemoryParts::this_thread() noexcept { return rt.this_thread(); }

bool MemoryParts::take_hints(ThreadState &thread) noexcept {
  if (!hints.any()) return false;
  MemoryLock lock(mutex);
  serve();
  release(thread, lock);
  return true;
}

}  // namespace consort
