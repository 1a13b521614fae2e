#include "task/callback.hpp"

#include "graph/complete.hpp"

namespace consort {

void Callback::end(Runtime &rt, ThreadState &thread, Task *t) noexcept {
  if (!thread.in_callback) return end_by_word(rt, thread, t);
  t->pub.sched[0] = nullptr;
  if (thread.ended) thread.last_ended->pub.sched[0] = t;
  else thread.ended = t;
  thread.last_ended = t;
}

void Callback::end_those_put_off(Runtime &rt, ThreadState &thread) noexcept {
  if (thread.ending) return;  // by somebody below on this stack
  thread.ending = true;
  while (Task *t = thread.ended) {
    thread.ended = static_cast<Task *>(t->pub.sched[0]);
    end_by_word(rt, thread, t);
  }
  thread.ending = false;
}

}  // namespace consort
