#include "graph/formats.hpp"

#include <cmath>
#include <limits>

#include "base/last_error.hpp"
#include "graph/access_phase.hpp"
#include "graph/format_cost.hpp"
#include "graph/internal_task.hpp"
#include "graph/submit_special.hpp"

namespace consort {
namespace {

// Submits a conversion, linked as if it had been submitted at this point.
consort_status convert(SubmissionDraft &draft, Formats &formats, uint32_t from, uint32_t to) noexcept {
  const auto refuse = [&](consort_status s, const char *why) {
    return set_errorf(s, "datum '%s': the codelet that converts it %s",
                      draft.rt.data.name(*formats.all[0].datum).c_str(), why);
  };
  const consort_codelet_id id = to ? formats.all[to].to : formats.all[from].from;
  Codelet *c = draft.rt.codelets.find(id);
  if (!c) return refuse(CONSORT_E_STALE, "was removed");
  if (!c->where) return refuse(CONSORT_E_UNSUPPORTED, "has no implementation for a unit of this machine: add one");
  const Claim claims[] = {{formats.all[from].datum, CONSORT_M_R}, {formats.all[to].datum, CONSORT_M_W}};
  for (const Claim &claim : claims) {
    AccessOrder &discipline = *discipline_if_any(*claim.datum);
    const bool alone = claim.mode == CONSORT_M_W;
    if (const consort_status s = enter_plainly(draft, *claim.datum, discipline, alone, !alone); s < 0) return s;
    mark_odd(*claim.datum);
  }
  Task *t = make_internal(draft.rt, draft.thread, *draft.t->group, 0, *c);
  if (!t) return CONSORT_E_NOMEM;
  // as in submit_any(): the remover of the codelet sees the record, or this thread sees that it is removed
  fence::light(draft.rt.asymmetric);
  if (!c->live.load(std::memory_order_relaxed)) {
    draft.drop_record(t);
    return refuse(CONSORT_E_STALE, "was removed");
  }
  if (const consort_status s = send_internal(draft, t, claims, 2, 0); s < 0) return s;
  formats.all[to].holds = true;
  return CONSORT_OK;
}

consort_status bring(SubmissionDraft &draft, Formats &formats, uint32_t to) noexcept {
  if (formats.all[to].holds) return CONSORT_OK;
  if (!formats.all[0].holds) {
    uint32_t from = 1;
    while (from < formats.all.size() && !formats.all[from].holds) ++from;
    if (from == formats.all.size()) return CONSORT_OK;  // not written yet: a reader gets an error
    if (const consort_status s = convert(draft, formats, from, 0); s < 0) return s;
  }
  return to ? convert(draft, formats, 0, to) : CONSORT_OK;
}

// Of the classes that could run it, returns the ones whose formats cost least: the time of the conversions and of the
// task, if models know all of them, else the number of conversions.
uint64_t choose_classes(const SubmissionDraft &draft, uint64_t classes) noexcept {
  uint32_t fewest = UINT32_MAX, by_number = 0, by_time = 0;
  float least = std::numeric_limits<float>::infinity();
  bool known = true;
  for (uint64_t left = classes; left; left &= left - 1) {
    const auto klass = static_cast<uint32_t>(__builtin_ctzll(left));
    const FormatCost cost = cost_in_class(draft, klass);
    known &= !std::isnan(cost.ns);
    if (cost.conversions < fewest) fewest = cost.conversions, by_number = klass;
    if (cost.ns < least) least = cost.ns, by_time = klass;
  }
  const uint32_t best = known ? by_time : by_number;
  const auto alike = [&](uint32_t klass) {
    for (uint32_t i = 0; i < draft.nclaims; ++i)
      if (const Formats *f = formats_of(*draft.claims[i].datum); f && f->of_class(best) != f->of_class(klass)) return false;
    return true;
  };
  uint64_t chosen = 0;
  for (uint64_t left = classes; left; left &= left - 1) {
    const auto klass = static_cast<uint32_t>(__builtin_ctzll(left));
    if (alike(klass)) chosen |= uint64_t{1} << klass;
  }
  return chosen;
}

// All formats end with the first one, after their users.
consort_status enter_end(SubmissionDraft &draft, Formats &formats) noexcept {
  if (formats.all[0].datum->home.load(std::memory_order_relaxed))
    if (const consort_status s = bring(draft, formats, 0); s < 0) return s;
  for (size_t i = 1; i < formats.all.size(); ++i)
    draft.claims[draft.nclaims + draft.nhidden++] = {formats.all[i].datum, CONSORT_M_RW};
  return CONSORT_OK;
}

}  // namespace

Formats::~Formats() {
  for (size_t i = 1; i < all.size(); ++i) rt.data.remove(*all[i].datum);
}

uint32_t Formats::of_class(uint32_t klass) const noexcept {
  for (uint32_t i = 1; i < all.size(); ++i)
    if (all[i].classes >> klass & 1) return i;
  return 0;
}

consort_status add_format(TaskGraph &rt, Datum &d, AccessOrder &discipline, const consort_format_desc &desc) {
  const std::string name = rt.data.name(d);
  if (discipline.in_tree() || discipline.reduction || !discipline.ordered)
    return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' %s: it cannot have several formats", name.c_str(),
                      discipline.part_of     ? "is a part of another"
                      : discipline.plans     ? "has plans"
                      : discipline.reduction ? "is reduced"
                                             : "makes no order");
  if (discipline.formats && discipline.formats->all.size() == Formats::kMost)
    return set_errorf(CONSORT_E_INVAL, "datum '%s' has %u formats, and that is the most", name.c_str(), Formats::kMost);
  for (const consort_codelet_id id : {desc.to, desc.from}) {
    const Codelet *c = rt.codelets.find(id);
    if (!c || !c->live.load(std::memory_order_relaxed))
      return set_errorf(id.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
                        "`%s` is no codelet of this runtime: consort_codelet_add() gives one",
                        id.v == desc.to.v ? "to" : "from");
    const bool as_given =
        c->modes.empty() || (c->modes.size() == 2 && c->modes[0] == CONSORT_M_R && c->modes[1] == CONSORT_M_W);
    if ((c->nmodes != CONSORT_NONE && c->nmodes != 2) || !as_given)
      return set_errorf(CONSORT_E_INVAL,
                        "codelet '%s' converts a datum: it is given the source to read and the target to write",
                        c->name.c_str());
  }
  uint64_t classes = 0;  // none if this machine has no such unit
  for (size_t i = 0; i < rt.topology->classes().size(); ++i)
    if (std::string_view(rt.topology->classes()[i]) == desc.klass) classes |= uint64_t{1} << i;
  for (size_t i = 1; discipline.formats && i < discipline.formats->all.size(); ++i)
    if (classes & discipline.formats->all[i].classes)
      return set_errorf(CONSORT_E_INVAL, "datum '%s' has a format for units of class '%s' already", name.c_str(),
                        desc.klass);

  auto layout = rt.data.layout(desc.interface);
  if (!layout) return set_error(layout.error());
  auto slot = rt.data.take_slot(*layout);
  if (!slot) return set_error(slot.error());
  Datum &other = **slot;
  const consort_interface_ops &ops = *(*layout)->ops;
  std::byte *shape = static_cast<std::byte *>(other.view) - (*layout)->view_at;
  consort_extent extent{};
  const consort_status made = ops.shape(desc.args, desc.args_bytes, shape, other.view);
  if (made < 0 ||
      (ops.bytes(shape) && ops.extents(shape, other.view, &extent, 1) && extent.addr.base + extent.addr.off)) {
    rt.data.put_back(other);
    return set_errorf(CONSORT_E_INVAL,
                      "interface '%s' does not accept these arguments for a format of datum '%s': check the sizes, and "
                      "give no address", desc.interface, name.c_str());
  }
  rt.data.show(other, data_state::kHidden | data_state::kNowhere << data_state::kSpaceShift);
  AccessOrder *own = discipline_of(other);
  DatumExtra *extra = rt.data.extra(other);
  if (!own || !extra) {
    rt.data.remove(other);
    return no_memory();
  }
  try {
    extra->name = name + " (" + desc.klass + ")";
    if (!discipline.formats) {
      auto formats = std::make_unique<Formats>(rt);
      formats->all.reserve(Formats::kMost);
      formats->all.push_back({&d, 0, {0}, {0}, true});
      discipline.formats = std::move(formats);
    }
  } catch (const std::bad_alloc &) {
    rt.data.remove(other);
    return no_memory();
  }
  other.lock_at.store(static_cast<int32_t>(&d - &other) + d.lock_at.load(std::memory_order_relaxed),
                      std::memory_order_release);
  own->format_of = discipline.formats.get();
  own->number = static_cast<uint32_t>(discipline.formats->all.size());
  discipline.formats->all.push_back({&other, classes, desc.to, desc.from, false});  // capacity is reserved
  mark_odd(d);
  return CONSORT_OK;
}

consort_status enter_formats(SubmissionDraft &draft) noexcept {
  for (uint32_t i = 0; i < draft.nclaims && !draft.formatted; ++i) draft.formatted = formats_of(*draft.claims[i].datum);
  if (!draft.formatted) return CONSORT_OK;
  Task &t = *draft.t;
  if (draft.unordered)
    return set_error(
        CONSORT_E_UNSUPPORTED,
        "a datum of the task has several formats, and order is what keeps them in step: submit it in order");
  uint32_t klass = CONSORT_NONE;  // for a task without a body: the first format
  if (!(t.bits & kSpecial)) {
    const bool bound = t.bits & kBound;
    const uint64_t classes =
        choose_classes(draft, bound ? uint64_t{1} << draft.rt.workers[t.extra->worker]->klass : t.pub.where);
    if (!bound) t.pub.where = classes;
    klass = static_cast<uint32_t>(__builtin_ctzll(classes));
  }
  for (uint32_t i = 0; i < draft.nclaims; ++i) {
    Claim &claim = draft.claims[i];
    Formats *formats = formats_of(*claim.datum);
    if (!formats || (claim.mode & CONSORT_M_REDUX)) continue;  // reported where phases are entered
    if (t.kind == TaskKind::kRetire) {
      if (const consort_status s = enter_end(draft, *formats); s < 0) return s;
      continue;
    }
    const uint32_t wanted = klass == CONSORT_NONE ? 0 : formats->of_class(klass);
    if (claim.mode & CONSORT_M_R)
      if (const consort_status s = bring(draft, *formats, wanted); s < 0) return s;
    if (!wanted) continue;
    Datum *const other = formats->all[wanted].datum;
    for (uint32_t k = 0; k < t.pub.naccess; ++k)
      if (Datum::of(t.pub.access[k].datum) == claim.datum && !(t.pub.access[k].mode & CONSORT_M_SCRATCH))
        t.accesses()[k].datum = &other->pub;
    claim.datum = other;
  }
  return CONSORT_OK;
}

void settle_formats(SubmissionDraft &draft) noexcept {
  for (uint32_t i = 0; i < draft.nclaims; ++i) {
    if (!(draft.claims[i].mode & CONSORT_M_W)) continue;
    const AccessOrder *discipline = discipline_if_any(*draft.claims[i].datum);
    Formats *formats = !discipline             ? nullptr
                       : discipline->format_of ? discipline->format_of
                                               : discipline->formats.get();
    if (!formats) continue;
    const uint32_t number = discipline->format_of ? discipline->number : 0;
    for (uint32_t k = 0; k < formats->all.size(); ++k) formats->all[k].holds = k == number;
  }
}

consort_status bring_formats_home(TaskGraph &rt, ThreadState &thread, bool *any) noexcept {
  consort_status answer = CONSORT_OK;
  rt.data.each([&](Datum &d) {
    const Formats *formats = formats_of(d);
    if (!formats || formats->all[0].holds || !d.home.load(std::memory_order_relaxed)) return;
    // a synchronisation point, which reads the first format
    const consort_status s = submit_special(rt, thread, {d.pub.id}, CONSORT_M_R, TaskKind::kEmpty);
    if (s >= 0) *any = true;
    else answer = s;
  });
  return answer;
}

}  // namespace consort
