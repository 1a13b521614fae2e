#include "graph/task_options.hpp"

#include <new>

#include "task/core.hpp"

namespace consort {

TaskOptions *more_of(ThreadState &thread, Task *t) noexcept {
  if (!t->extra) thread.rt.tasks.make_extra(t);
  if (!t->extra->more && (t->extra->more = new (std::nothrow) TaskOptions)) t->bits |= kMore;
  return t->extra->more;
}

}  // namespace consort
