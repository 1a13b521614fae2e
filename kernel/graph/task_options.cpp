#include "graph/task_options.hpp"

#include <new>

#include "task/thread_state.hpp"

namespace consort {

TaskOptions *more_of(ThreadState &thread, Task *t) noexcept {
  if (!t->extra) {
    Task *lent = thread.take_lent();
    if (!lent) return nullptr;
    t->extra = new (lent) Extra;
  }
  if (!t->extra->more && (t->extra->more = new (std::nothrow) TaskOptions)) t->bits |= kMore;
  return t->extra->more;
}

}  // namespace consort
