#include "more.hpp"

#include "callback.hpp"
#include "draft.hpp"
#include "error_slot.hpp"

namespace consort {
namespace {

// Out of its place first: whatever happens meanwhile, it is called and dropped once.
void call(Runtime &rt, Hand &h, Task *t, consort_hook &place) noexcept {
  const consort_hook hook = std::exchange(place, consort_hook{});
  if (!hook.fn && !hook.drop) return;
  in_callback(rt, h, t, [&] {
    if (hook.fn) hook.fn(hook.arg, {t->pub.id});
  });
  if (hook.drop) in_callback(rt, h, t, [&] { hook.drop(hook.arg); });
}

}  // namespace

consort_status read_more(Draft &draft, const consort_task_desc &d) noexcept {
  constexpr uint32_t kFlags = CONSORT_MORE_TAG;
  const consort_task_more &m = *d.more;
  if (m.size < sizeof m) return set_errorf(CONSORT_E_INVAL, "more->size is %u: set it to sizeof(struct consort_task_more), or use CONSORT_TASK_MORE_INIT", m.size);
  if (m.flags & ~kFlags) return set_errorf(CONSORT_E_INVAL, "more->flags has 0x%x, which this runtime does not know: CONSORT_MORE_TAG is what there is", m.flags & ~kFlags);
  Extra *e = draft.extra();
  if (!e || !(e->more = new (std::nothrow) More)) return no_memory();
  More &more = *e->more;
  draft.t->bits |= kMore;
  more.ready = m.ready;
  more.begin = m.begin;
  more.done_drop = m.done_drop;
  return CONSORT_OK;
}

void call_ready(Runtime &rt, Hand &h, Task *t) noexcept { call(rt, h, t, t->extra->more->ready); }
void call_begin(Runtime &rt, Hand &h, Task *t) noexcept { call(rt, h, t, t->extra->more->begin); }

void end_more(Runtime &rt, Hand &h, Task *t, consort_status) noexcept {
  More &m = *t->extra->more;
  if (m.done_drop) in_callback(rt, h, t, [&] { m.done_drop(t->extra->done_arg); });
  for (consort_hook *hook : {&m.ready, &m.begin})
    if (hook->drop) in_callback(rt, h, t, [&] { hook->drop(hook->arg); });
}

}  // namespace consort
