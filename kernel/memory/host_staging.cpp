#include "memory/host_staging.hpp"

#include <utility>

#include "graph/formats.hpp"
#include "graph/reduction.hpp"
#include "machine/topology.hpp"

namespace consort {

bool HostStaging::reserve(Task *t, size_t data) noexcept try {
  auto s = std::make_unique<Staging>(Staging{.task = t});
  s->items.reserve(data);
  t->extra->reserved = s.release();
  return true;
} catch (const std::bad_alloc &) {
  return false;
}

Staging &HostStaging::open(Task *t, uint32_t space) noexcept {
  Staging *const s = t->extra->staging = std::exchange(t->extra->reserved, nullptr);
  s->space = space;
  s->reach = coherence::one(space);
  stagings_.add(*s);
  return *s;
}

void HostStaging::wait_until_landed(Staging &s, Replicas *flying) noexcept {
  for (; flying; flying = flying->next_flying) {
    flying->leaving = &s;
    ++s.awaited;
  }
}

// The first memory of a datum at home is admitted like any, if home is counted.
bool HostStaging::is_first_write(const Task &t) const noexcept {
  return is_nowhere(*Datum::of(t.pub.access[0].datum)) && t.pub.access[0].mode == CONSORT_M_W &&
         cache_.is_counted(topology_.home());
}

bool HostStaging::concerns(const Task &t) const noexcept {
  const Datum &d = *Datum::of(t.pub.access[0].datum);
  return t.kind == TaskKind::kRetire || is_first_write(t) ||
         data_state::space(d.state.load(std::memory_order_relaxed)) == data_state::kMany;
}

Outcome HostStaging::stage(Task *t) noexcept try {
  Datum &d = *Datum::of(t->pub.access[0].datum);
  return t->kind == TaskKind::kRetire ? stage_retired(t, d) : stage_hold(t, d);
} catch (const std::bad_alloc &) {
  return Outcome::kDone;  // check_held() reports it
}

Outcome HostStaging::stage_hold(Task *t, Datum &d) {
  const bool contents = records_.of(d).valid && has_contents(d);
  Staging &s = open(t, topology_.home());
  if (t->kind == TaskKind::kHold && !(t->bits & kMore)) s.thread = t->thread;
  // A hold that reads unwritten data fails elsewhere. Capacity: reserve()
  s.items.push_back({&d, contents ? t->pub.access[0].mode : uint32_t{CONSORT_M_W}, nullptr});
  return admit(s);
}

// Waits until no copy of the datum is in flight, nor of its reduction copies and other formats. The latter lose their
// value now: they are not saved, so memory is freed by dropping them.
Outcome HostStaging::stage_retired(Task *t, Datum &d) noexcept {
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
  Staging &s = open(t, own ? own->space : topology_.home());
  if (fetch_it) s.items.push_back({&d, CONSORT_M_R, nullptr});  // capacity: reserve()
  wait_until_landed(s, flying);
  return admit(s);
}

}  // namespace consort
