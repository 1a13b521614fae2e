#include "memory/stagings.hpp"

#include <algorithm>
#include <utility>

#include "task/task.hpp"

namespace consort {

void Stagings::add(Staging &s) noexcept {
  s.next = first_;
  if (first_) first_->previous = &s;
  first_ = &s;
}

void Stagings::remove(Staging &s) noexcept {
  (s.previous ? s.previous->next : first_) = s.next;
  if (s.next) s.next->previous = s.previous;
}

// Does not access the record of a task that may be ending.
const Staging *Stagings::find(TaskName name) const noexcept {
  const Staging *s = first_;
  while (s && s->task->pub.id != name) s = s->next;
  return s;
}

StagingQueue Stagings::take_ready() noexcept { return std::exchange(ready_, {}); }

uint64_t Stagings::held_by_its_thread(const Staging &s) const noexcept {
  if (s.thread == CONSORT_NONE) return 0;
  uint64_t bytes = 0;
  for (const Staging *other = first_; other; other = other->next) {
    if (other == &s || !other->granted || other->thread != s.thread) continue;
    for (const auto &item : other->items) {
      const Replica &r = holder(*item.replica);
      const bool again = std::any_of(s.items.begin(), s.items.end(),
                                     [&](const auto &i) { return &holder(*i.replica) == &r; });
      if (r.space == s.space && !r.lasting && !again) bytes += r.bytes;
    }
  }
  return bytes;
}

}  // namespace consort
