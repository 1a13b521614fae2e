#include "internal.hpp"

#include "error_slot.hpp"
#include "linking.hpp"

namespace consort {

Task *make_internal(Runtime &rt, Hand &h, Group &group, uint16_t bits, Codelet *c) noexcept {
  Task *t = h.take_lent();
  if (!t) {
    no_memory();
    return nullptr;
  }
  blank(t, c ? c->blank : kBlank, c, static_cast<uint16_t>(bits | (c ? 0 : kEmpty)));
  t->pub.flags |= CONSORT_TK_INTERNAL;
  t->pub.id = (t->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | rt.tasks.index(t);
  t->group = &group;
  t->epoch = group.epoch.load(std::memory_order_relaxed);
  fence::light(rt.asymmetric);  // as in submit_any(): the remover of the codelet sees the record, or we that it is removed
  if (!c || c->live.load(std::memory_order_relaxed)) return t;
  set_errorf(CONSORT_E_STALE, "codelet '%s', of a datum's reduction, was removed while the datum needs it", c->name.c_str());
  std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_relaxed);
  h.give_record(t);
  return nullptr;
}

consort_status send_internal(Runtime &rt, Hand &h, Task *t, const Claim *claims, uint32_t n, TaskName first) noexcept {
  uint32_t links = first != 0;
  bool room = true;
  t->pub.naccess = static_cast<uint16_t>(n);
  for (uint32_t i = 0; i < n; ++i) {
    Datum &d = *claims[i].datum;
    t->accesses()[i] = {&d.pub, claims[i].mode, 0};
    links += links_for(d, claims[i].mode);
    if (shares(claims[i].mode)) room &= rt.data.make_room(rt.tasks, d);
  }
  if (!room || (links > kInlineLinks && !reserve_more(rt, h, t, links))) {
    if (t->extra) free_lent(rt, h, t);
    std::atomic_ref<Codelet *>(t->codelet).store(nullptr, std::memory_order_relaxed);
    h.give_record(t);
    return no_memory();
  }
  count_in(h, *t->group);
  Linker linker(rt, t);
  linker.after(first);
  for (uint32_t i = 0; i < n; ++i) link_one(linker, *claims[i].datum, claims[i].mode, t->pub.id);
  if (!let_go(rt, t, linker, pending::kGuard)) return CONSORT_OK;
  // One without a body has no successor yet, and calls nobody: it may end under the right.
  if (t->bits & kSpecial) end_special(rt, h, t);
  else push_ready(rt, h, t);
  return CONSORT_OK;
}

consort_status insert_junction(Draft &draft, Datum &d, uint16_t bits) noexcept {
  Task *t = make_internal(draft.rt, draft.h, *draft.t->group, bits, nullptr);
  if (!t) return CONSORT_E_NOMEM;
  const Claim claim{&d, CONSORT_M_W};
  return send_internal(draft.rt, draft.h, t, &claim, 1, 0);
}

}  // namespace consort
