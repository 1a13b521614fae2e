#include "task/callback.hpp"

namespace consort {

void Callback::end(ThreadState &thread, Task *t) noexcept {
  if (!thread.in_callback) return thread.put_off_ends->end(thread, t);
  t->pub.sched[0] = nullptr;
  if (thread.ended) thread.last_ended->pub.sched[0] = t;
  else thread.ended = t;
  thread.last_ended = t;
}

void Callback::end_those_put_off(ThreadState &thread) noexcept {
  if (thread.ending) return;  // an outer frame of this thread makes the ends
  thread.ending = true;
  while (Task *t = thread.ended) {
    thread.ended = static_cast<Task *>(t->pub.sched[0]);
    thread.put_off_ends->end(thread, t);
  }
  thread.ending = false;
}

}  // namespace consort
