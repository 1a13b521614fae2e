#include "graph/completion_hold.hpp"

#include <mutex>

namespace consort {

void CompletionHolds::enlist(Task *t, uint32_t holds, bool guarded) noexcept {
  TaskOptions &m = *t->extra->more;
  m.task = t;
  m.name = t->pub.id;
  m.holds = holds;
  m.guarded = guarded;
  m.listed = true;
  held_.fetch_add(holds, std::memory_order_relaxed);
  Bucket &b = bucket(m.name);
  std::lock_guard lock(b.lock);
  m.next = b.first;
  b.first = &m;
}

TaskOptions *CompletionHolds::find(Bucket &b, TaskName name) noexcept {
  TaskOptions *m = b.first;
  while (m && m->name != name) m = m->next;
  return m;
}

Task *CompletionHolds::unlist_if_free(Bucket &b, TaskOptions &m) noexcept {
  if (!m.over || m.holds || m.guarded) return nullptr;
  TaskOptions **at = &b.first;
  while (*at != &m) at = &(*at)->next;
  *at = m.next;
  return m.task;
}

bool CompletionHolds::may_end(Task *t, consort_status status, uint32_t worker) noexcept {
  TaskOptions &m = *t->extra->more;
  if (!m.listed) return true;
  Bucket &b = bucket(m.name);
  std::lock_guard lock(b.lock);
  m.status = status;
  m.worker = worker;
  m.over = true;
  return unlist_if_free(b, m);
}

bool CompletionHolds::waits_for_tasks(Task *t) noexcept {
  const TaskOptions &m = *t->extra->more;
  if (!m.listed) return false;
  std::lock_guard lock(bucket(m.name).lock);
  return m.guarded && !m.holds;
}

bool CompletionHolds::hold(TaskName name) noexcept {
  Bucket &b = bucket(name);
  std::lock_guard lock(b.lock);
  TaskOptions *m = find(b, name);
  if (!m) return false;
  ++m->holds;
  held_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool CompletionHolds::release(TaskName name, Task **last) noexcept {
  Bucket &b = bucket(name);
  std::lock_guard lock(b.lock);
  TaskOptions *m = find(b, name);
  if (!m || !m->holds) return false;
  --m->holds;
  held_.fetch_sub(1, std::memory_order_relaxed);
  *last = unlist_if_free(b, *m);
  return true;
}

Task *CompletionHolds::guard_is_over(TaskName name) noexcept {
  Bucket &b = bucket(name);
  std::lock_guard lock(b.lock);
  TaskOptions *m = find(b, name);
  m->guarded = false;
  return unlist_if_free(b, *m);
}

uint32_t CompletionHolds::holds(TaskName name) noexcept {
  Bucket &b = bucket(name);
  std::lock_guard lock(b.lock);
  const TaskOptions *m = find(b, name);
  return m ? m->holds : 0;
}

}  // namespace consort
