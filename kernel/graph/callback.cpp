#include "graph/callback.hpp"

#include "graph/complete.hpp"

namespace consort {

void Callback::end(Runtime &rt, Hand &h, Task *t) noexcept {
  if (!h.in_callback) return end_by_word(rt, h, t);
  t->pub.sched[0] = nullptr;
  if (h.ended) h.last_ended->pub.sched[0] = t;
  else h.ended = t;
  h.last_ended = t;
}

void Callback::end_those_put_off(Runtime &rt, Hand &h) noexcept {
  if (h.ending) return;  // by somebody below on this stack
  h.ending = true;
  while (Task *t = h.ended) {
    h.ended = static_cast<Task *>(t->pub.sched[0]);
    end_by_word(rt, h, t);
  }
  h.ending = false;
}

}  // namespace consort
