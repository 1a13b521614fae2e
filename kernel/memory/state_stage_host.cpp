// stage_host.cpp — Memory, for those who come without a worker: the application that holds data at home, an
// unregistration; and what steps between a whole and its parts ask for in the same way.
#include <algorithm>

#include "base/last_error.hpp"
#include "graph/formats.hpp"
#include "graph/reduction.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

bool MemoryState::reserve(Task *t, size_t data) noexcept try {
  auto s = std::make_unique<Staging>(Staging{t, nullptr, 0, {}, {}, 0, 0, 0, false, 0, {}, nullptr, nullptr});
  s->items.reserve(data);
  t->extra->reserved = s.release();
  return true;
} catch (const std::bad_alloc &) {
  return false;
}

Staging &MemoryState::stage_by_itself(Task *t, uint32_t space) noexcept {
  Staging *const s = t->extra->staging = std::exchange(t->extra->reserved, nullptr);
  s->space = space;
  s->reach = coherence::one(space);
  keep(*s);
  return *s;
}

// It is complete only when nothing of those is under way any more.
void MemoryState::wait_until_landed(Staging &s, Replicas *flying) noexcept {
  for (; flying; flying = flying->next_flying) {
    flying->leaving = &s;
    ++s.awaited;
  }
}

Outcome MemoryState::sent(Staging &s) noexcept {
  Store &store = stores_[s.space];
  const auto has_its_room = [&] {
    try {
      choose(s);
    } catch (const std::bad_alloc &) {
      return true;  // grant() meets the same, and says so
    }
    return std::all_of(s.items.begin(), s.items.end(), [](const auto &i) { return i.replica->allocated; });
  };
  // Those that wait may wait for what this thread holds.
  const bool first = store.waiting.empty() || has_its_room() || held_by_its_thread(s);
  if (!first || !grant(s)) {
    if (first) store.waiting.push_front(&s);
    else store.waiting.push_back(&s);
    s.queued = true;
    return Outcome::kPending;
  }
  if (s.awaited) return Outcome::kPending;
  ++active_;
  return Outcome::kDone;
}

// What this thread holds already, and would wait for itself if that were in the way. Holds that came by a callback are no
// thread's.
uint64_t MemoryState::held_by_its_thread(const Staging &s) const noexcept {
  if (s.thread == CONSORT_NONE) return 0;
  uint64_t bytes = 0;
  for (const Staging *other = stagings_; other; other = other->next) {
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

// Its contents come home if they belong there, and nothing of it flies any more, nor of copies that it was reduced on and
// of its other formats. Others are worth nothing from here on: they are not saved, so room is made by dropping them.
Outcome MemoryState::stage_retired(Task *t, Datum &d) noexcept {
  Lock lock(mutex_);
  Replicas *flying = nullptr;
  const auto retire = [&](Replicas *all, bool wanted) {
    if (!all) return;
    all->retired = true;
    if (!wanted) all->valid = 0, ++all->version;
    if (all->flying) all->next_flying = std::exchange(flying, all);
  };
  Replicas *const all = replicas_if_any(d);
  const Replica *own = all ? all->lasting() : nullptr;
  const bool wanted = own && all->valid && has_contents(d);
  const bool fetch_it = wanted && !all->is_valid(*own);
  retire(all, wanted);
  for_each_copy(d, [&](Datum &copy) { retire(replicas_if_any(copy), false); });
  for_each_other_format(d, [&](Datum &other) { retire(replicas_if_any(other), false); });
  if (!fetch_it && !flying) return Outcome::kDone;
  Staging &s = stage_by_itself(t, own ? own->space : rt_.topology->home());
  if (fetch_it) s.items.push_back({&d, CONSORT_M_R, nullptr});  // there is room: reserve()
  wait_until_landed(s, flying);
  return sent(s);
}

Outcome MemoryState::stage_home(Task *t) noexcept try {
  Datum &d = *Datum::of(t->pub.access[0].datum);
  if (t->kind == TaskKind::kRetire) return stage_retired(t, d);
  const uint32_t home = rt_.topology->home();
  // Its first memory is taken like any, where it is counted; one who wants to read it is told that nobody has written it.
  const bool first = is_nowhere(d) && t->pub.access[0].mode == CONSORT_M_W && manages(home);
  if (!first && data_state::space(d.state.load(std::memory_order_relaxed)) != data_state::kMany) return Outcome::kDone;
  Lock lock(mutex_);
  const bool contents = replicas_of(d)->valid && has_contents(d);
  Staging &s = stage_by_itself(t, home);
  if (!(t->bits & kMore)) s.thread = t->thread;
  // That there is nothing to read is told elsewhere. There is room: reserve()
  s.items.push_back({&d, contents ? t->pub.access[0].mode : uint32_t{CONSORT_M_W}, nullptr});
  return sent(s);
} catch (const std::bad_alloc &) {
  return Outcome::kDone;  // check_held() tells
}

}  // namespace consort
