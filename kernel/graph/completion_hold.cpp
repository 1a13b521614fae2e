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
  if (!m.over || m.holds || m.guarded || m.leaving) return nullptr;
  TaskOptions **at = &b.first;
  while (*at != &m) at = &(*at)->next;
  *at = m.next;
  return m.task;
}

bool CompletionHolds::may_end(Task *t, consort_status status, uint32_t worker, bool *leaves) noexcept {
  TaskOptions &m = *t->extra->more;
  if (!m.listed) return true;
  Bucket &b = bucket(m.name);
  std::lock_guard lock(b.lock);
  m.status = status;
  m.worker = worker;
  m.over = true;
  m.leaving = leaves && m.guarded && !m.holds;
  if (m.leaving) *leaves = true;
  return unlist_if_free(b, m);
}

Task *CompletionHolds::left(TaskName name) noexcept {
  Bucket &b = bucket(name);
  std::lock_guard lock(b.lock);
  TaskOptions *m = find(b, name);
  m->leaving = false;
  return unlist_if_free(b, *m);
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

bool CompletionHolds::release(TaskName name, Task **last, Task **leaves) noexcept {
  Bucket &b = bucket(name);
  std::lock_guard lock(b.lock);
  TaskOptions *m = find(b, name);
  if (!m || !m->holds) return false;
  --m->holds;
  held_.fetch_sub(1, std::memory_order_relaxed);
  if (m->over && m->guarded && !m->holds && !m->leaving && m->task->extra->staging) m->leaving = true, *leaves = m->task;
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

void CompletionHolds::list_over(std::vector<TaskName> &names) {
  for (Bucket &b : buckets_) {
    std::lock_guard lock(b.lock);
    for (const TaskOptions *m = b.first; m; m = m->next)
      if (m->over && m->holds) names.push_back(m->name);
  }
}

}  // namespace consort
