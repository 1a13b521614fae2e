#include "graph/partition_order.hpp"

#include <consort/memory.h>

#include <cstddef>
#include <cstring>

#include "base/last_error.hpp"
#include "graph/access_phase.hpp"
#include "graph/failed_task.hpp"
#include "graph/internal_task.hpp"
#include "graph/link_steps.hpp"
#include "task/replica.hpp"

namespace consort {
namespace {

using State = PartitionPlan::State;

// The action of a step at its turn; in the payload of its task.
struct Step {
  enum What : uint32_t { kOpen, kOpenToWrite, kLetWrite, kLetReadWhole, kGather, kShut, kEnd };
  PartitionPlan *plan;
  What what;
};
static_assert(sizeof(Step) <= kPayload);

Step &step_of(Task &t) noexcept { return *reinterpret_cast<Step *>(t.payload); }

Task *make_step(SubmissionDraft &draft, PartitionPlan &plan, Step::What what) noexcept {
  Task *t = make_internal(draft.rt, draft.thread, *draft.t->group, TaskKind::kStep);
  if (!t) return nullptr;
  new (t->payload) Step{&plan, what};
  if (draft.rt.data.placement && !reserve_staging(draft, t, plan.n + 1)) return nullptr;
  return t;
}

void mark_all(PartitionPlan &plan) noexcept {
  for (uint32_t i = 0; i < plan.n; ++i) mark_odd(*plan.part[i]);
  mark_odd(*plan.whole);
}

// Returns the number of links for a step behind the users of the parts: the last writers, or all.
uint32_t count_users(const TaskGraph &rt, const PartitionPlan &plan, bool writers_alone) noexcept {
  uint32_t n = 0;
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    if (d.nreaders && !writers_alone) {
      for (uint32_t r = 0; r < d.nreaders; ++r) n += d.reader_at(r) != plan.opener && rt.is_live(d.reader_at(r));
    } else if (d.writer && d.writer != plan.opener) {
      n += rt.is_live(d.writer);
    }
  }
  return n;
}

// Prepares the whole for a step that uses it exclusively or shared: its phase, and room among its readers.
consort_status enter_whole(SubmissionDraft &draft, PartitionPlan &plan, bool alone) noexcept {
  Datum &whole = *plan.whole;
  if (const consort_status s = enter_plainly(draft, whole, *discipline_if_any(whole), alone, true); s < 0) return s;
  return alone || draft.rt.data.make_room(draft.rt.tasks, whole) ? CONSORT_OK : no_memory();
}

// -- steps: each assumes that the datum's other plans, and all levels above, are in a fitting state -------------------

// From closed: all users of the parts follow it.
consort_status open_plan(SubmissionDraft &draft, PartitionPlan &plan, State to) noexcept {
  const bool alone = to == State::kOwned;
  Datum &whole = *plan.whole;
  if (const consort_status s = enter_whole(draft, plan, alone); s < 0) return s;
  Task *t = make_step(draft, plan, alone ? Step::kOpenToWrite : Step::kOpen);
  if (!t) return CONSORT_E_NOMEM;
  const uint32_t mode = alone ? CONSORT_M_W : CONSORT_M_R;
  if (!reserve_internal(draft, t, links_for(whole, mode) + 1)) return CONSORT_E_NOMEM;
  Linker linker(draft.rt, t);
  linker.after(plan.closer);  // it may have shared the whole like this step
  link_one(linker, whole, mode, t->pub.id);
  for (uint32_t i = 0; i < plan.n; ++i) {
    plan.part[i]->writer = t->pub.id;
    plan.part[i]->nreaders = 0;
  }
  plan.opener = t->pub.id;
  plan.state = to;
  mark_all(plan);
  let_internal_go(draft, t, linker);
  return CONSORT_OK;
}

// From shared to owned: writers of parts follow it, readers do not.
consort_status let_write(SubmissionDraft &draft, PartitionPlan &plan) noexcept {
  Datum &whole = *plan.whole;
  if (const consort_status s = enter_whole(draft, plan, true); s < 0) return s;
  for (uint32_t i = 0; i < plan.n; ++i)
    if (!draft.rt.data.make_room(draft.rt.tasks, *plan.part[i])) return no_memory();
  Task *t = make_step(draft, plan, Step::kLetWrite);
  if (!t) return CONSORT_E_NOMEM;
  if (!reserve_internal(draft, t, links_for(whole, CONSORT_M_W))) return CONSORT_E_NOMEM;
  Linker linker(draft.rt, t);
  link_alone(linker, whole, t->pub.id);
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    d.reader_at(d.nreaders++) = t->pub.id;
  }
  plan.opener = t->pub.id;
  plan.state = State::kOwned;
  mark_all(plan);
  let_internal_go(draft, t, linker);
  return CONSORT_OK;
}

// From owned to shared: behind the writers of the parts, so that the whole is complete.
consort_status let_read_whole(SubmissionDraft &draft, PartitionPlan &plan) noexcept {
  for (uint32_t i = 0; i < plan.n; ++i) {
    AccessOrder &discipline = plan.discipline[i];
    for (PartitionPlan *below = discipline.plans; below; below = below->next)
      if (below->state == State::kOwned)
        if (const consort_status s = let_read_whole(draft, *below); s < 0) return s;
    if (const consort_status s = enter_plainly(draft, *plan.part[i], discipline, false, true); s < 0) return s;
  }
  Task *t = make_step(draft, plan, Step::kLetReadWhole);
  if (!t) return CONSORT_E_NOMEM;
  Datum &whole = *plan.whole;
  if (!reserve_internal(draft, t, links_for(whole, CONSORT_M_W) + count_users(draft.rt, plan, true)))
    return CONSORT_E_NOMEM;
  Linker linker(draft.rt, t);
  link_alone(linker, whole, t->pub.id);
  for (uint32_t i = 0; i < plan.n; ++i)
    if (plan.part[i]->writer != plan.opener) linker.after(plan.part[i]->writer);
  plan.state = State::kShared;
  mark_all(plan);
  let_internal_go(draft, t, linker);
  return CONSORT_OK;
}

// Behind all users of the parts, and of their parts.
consort_status close_plan(SubmissionDraft &draft, PartitionPlan &plan) noexcept {
  const bool owned = plan.state == State::kOwned;
  for (uint32_t i = 0; i < plan.n; ++i) {
    AccessOrder &discipline = plan.discipline[i];
    for (PartitionPlan *below = discipline.plans; below; below = below->next)
      if (below->open())
        if (const consort_status s = close_plan(draft, *below); s < 0) return s;
    if (const consort_status s = enter_plainly(draft, *plan.part[i], discipline, true, true); s < 0) return s;
  }
  if (const consort_status s = enter_whole(draft, plan, owned); s < 0) return s;
  Task *t = make_step(draft, plan, owned ? Step::kGather : Step::kShut);
  if (!t) return CONSORT_E_NOMEM;
  Datum &whole = *plan.whole;
  const uint32_t mode = owned ? CONSORT_M_W : CONSORT_M_R;
  if (!reserve_internal(draft, t, links_for(whole, mode) + 1 + count_users(draft.rt, plan, false)))
    return CONSORT_E_NOMEM;
  Linker linker(draft.rt, t);
  linker.after(plan.opener);
  link_one(linker, whole, mode, t->pub.id);
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    const auto after = [&](TaskName user) noexcept {
      if (user != plan.opener) linker.after(user);
    };
    if (d.nreaders)
      for (uint32_t r = 0; r < d.nreaders; ++r) after(d.reader_at(r));
    else after(d.writer);
    d.nreaders = 0;
    d.writer = 0;
  }
  plan.closer = t->pub.id;
  plan.state = State::kClosed;
  mark_all(plan);
  let_internal_go(draft, t, linker);
  return CONSORT_OK;
}

// -- the path to a datum ---------------------------------------------------------------------------------------------

// The needs of one access in its tree.
struct Way {
  SubmissionDraft &draft;
  const Datum &asked;
  const bool writes;
  bool moved = false;

  // Makes the datum's plan, and all above, permit the access.
  consort_status reach(Datum &d) noexcept {
    PartitionPlan *p = discipline_if_any(d)->part_of;
    if (!p) return CONSORT_OK;
    if (writes && p->read_only) return refuse(*p);
    // and so do all levels above
    if (p->state == State::kOwned || (p->state == State::kShared && !writes)) return CONSORT_OK;
    if (const consort_status s = reach(*p->whole); s < 0) return s;
    if (const consort_status s = clear(*p->whole, p); s < 0) return s;
    moved = true;
    return p->open() ? let_write(draft, *p) : open_plan(draft, *p, writes ? State::kOwned : State::kShared);
  }

  // Closes or shares the datum's plans, except one, so that they permit the access.
  consort_status clear(Datum &d, const PartitionPlan *but) noexcept {
    consort_status s = CONSORT_OK;
    for (PartitionPlan *p = discipline_if_any(d)->plans; p && s >= 0; p = p->next) {
      if (p == but || !p->open() || (!writes && p->state == State::kShared)) continue;
      moved = true;
      s = writes || is_away(d) ? close_plan(draft, *p) : let_read_whole(draft, *p);
    }
    return s;
  }

  // Returns whether its home is the application's memory on a device. Reading the whole beside its parts would need a
  // second memory where a part is read and not all of it is valid, but that memory exists once. So its parts are
  // closed.
  bool is_away(const Datum &d) const noexcept {
    if (!draft.rt.data.placement) return false;
    const uint32_t home = draft.rt.graph_memory->home_of(d);
    return home != CONSORT_NONE && home != draft.rt.topology->home();
  }

  consort_status refuse(const PartitionPlan &p) noexcept {
    const DataTable &data = draft.rt.data;
    return set_errorf(CONSORT_E_INVAL,
                      "'%s' cannot be written: plan '%s' is read-only, %s; write '%s' itself, or through another plan",
                      data.name(asked).c_str(), p.name.c_str(),
                      p.filter->flags & CONSORT_FI_OVERLAP ? "because its parts share bytes" : "as it was made",
                      data.name(*p.whole).c_str());
  }
};

bool is_in_tree(const Claim &claim) noexcept {
  const AccessOrder *discipline = discipline_if_any(*claim.datum);
  return discipline && discipline->in_tree();
}

// Rejects two data of one task that share bytes, one of them written: no order could say which comes first.
consort_status check_apart(const SubmissionDraft &draft) noexcept {
  for (uint32_t i = 0; i < draft.nclaims; ++i) {
    const Claim &a = draft.claims[i];
    if (!is_in_tree(a)) continue;
    for (uint32_t k = 0; k < i; ++k) {
      const Claim &b = draft.claims[k];
      if (!(changes(a.mode) || changes(b.mode)) || !is_in_tree(b) || !may_share_bytes(*a.datum, *b.datum)) continue;
      const DataTable &data = draft.rt.data;
      return set_errorf(
          CONSORT_E_INVAL,
          "the task names '%s' and '%s', which may share bytes, and writes one of them: name what covers both, once",
          data.name(*b.datum).c_str(), data.name(*a.datum).c_str());
    }
  }
  return CONSORT_OK;
}

const Datum *above(const Datum *d) noexcept {
  const AccessOrder *discipline = discipline_if_any(*d);
  return discipline && discipline->part_of ? discipline->part_of->whole : nullptr;
}

uint32_t depth_of(const Datum *d) noexcept {
  const AccessOrder *discipline = discipline_if_any(*d);
  return discipline ? discipline->depth : 0;
}

// -- the turn of a step ----------------------------------------------------------------------------------------------

void set_contents(TaskGraph &rt, Datum &d, uint32_t state, const std::shared_ptr<const Failure> &blame) noexcept {
  rt.data.blame(d, state & data_state::kPoisoned ? blame : nullptr);
  d.state.store(state, std::memory_order_relaxed);  // readers come after this step
}

// If memory cannot be given, writers of a part are refused with the reason (DataTable::give_memory()).
bool give_memory_to_write(TaskGraph &rt, Datum &whole) noexcept {
  return !is_nowhere(whole) || rt.data.give_memory(whole, rt.topology->home()) >= 0;
}

// A correct view is not written, because a copy of a part for which no task waits may read it now.
consort_status alias(const PartitionPlan &plan, uint32_t i) noexcept {
  alignas(std::max_align_t) std::byte view[Layout::kMostBytes];
  const Datum &d = *plan.part[i];
  const uint32_t bytes = d.layout->ops->view_size;
  std::memcpy(view, d.view, bytes);
  const consort_status s = plan.filter->alias(plan.whole->shape(), plan.whole->view, plan.params.get(), i, view);
  if (s >= 0 && std::memcmp(view, d.view, bytes) != 0) std::memcpy(d.view, view, bytes);
  return s;
}

// Returns whether the whole has memory that can contain its parts. If it could not be brought there, it is poisoned.
bool has_place(TaskGraph &rt, const Datum &whole) noexcept {
  const uint32_t state = whole.state.load(std::memory_order_relaxed);
  if (data_state::space(state) != data_state::kMany || !(state & data_state::kPoisoned)) return !is_nowhere(whole);
  return rt.graph_memory->state_in(whole, rt.topology->home()) & CONSORT_IN_ROOM;
}

// The filter does not locate a part. No copy may be made there, and memory of other parts is not divided. All parts are
// poisoned and have no memory until they are opened again.
void refuse_parts(TaskGraph &rt, Task *t, PartitionPlan &plan, uint32_t refused, consort_status s) noexcept {
  set_errorf(s, "filter '%s' does not say where part %u is", plan.filter->name, refused);
  record_failure(rt, t, s, error_text(), plan.part[refused], CONSORT_NONE, nullptr);
  if (rt.data.placement) rt.graph_memory->parts_have_no_place(plan);
  for (uint32_t i = 0; i < plan.n; ++i)
    set_contents(rt, *plan.part[i],
                 data_state::kNowhere << data_state::kSpaceShift | data_state::kPoisoned | data_state::kHidden,
                 rt.failures.find(t->pub.id));
}

// Passes location and state of the whole to each part.
void hand_down(TaskGraph &rt, Task *t, PartitionPlan &plan, bool to_write) noexcept {
  Datum &whole = *plan.whole;
  const bool is_somewhere = (!to_write || give_memory_to_write(rt, whole)) && has_place(rt, whole);
  if (!is_somewhere && rt.data.placement) rt.graph_memory->parts_have_no_place(plan);
  const uint32_t state = whole.state.load(std::memory_order_relaxed) & ~data_state::kHidden;
  const auto of_part = [&](const Datum &part) {  // a whole in several spaces was brought home
    const uint32_t home = rt.topology->home(), space = is_somewhere ? data_state::space(state) : data_state::kNowhere;
    const uint32_t apart = space == data_state::kMany ? home : space;
    const uint32_t at = part.extra() && part.extra()->replicas ? data_state::kMany : apart;
    return (state & ((1u << data_state::kSpaceShift) - 1)) | at << data_state::kSpaceShift;
  };
  const std::shared_ptr<const Failure> blame = rt.data.blame(whole);
  const uint32_t empty = data_state::kValid | rt.topology->home() << data_state::kSpaceShift;
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    const consort_status s = is_somewhere || !d.pub.bytes ? alias(plan, i) : CONSORT_OK;
    if (s < 0) return refuse_parts(rt, t, plan, i, s);
    set_contents(rt, d, (d.pub.bytes ? of_part(d) : empty) | data_state::kHidden, blame);
  }
}

PartitionTurn turn_of(Step::What what) noexcept {
  switch (what) {
    case Step::kOpen: return PartitionTurn::kDown;
    case Step::kOpenToWrite: return PartitionTurn::kDownToWrite;
    case Step::kLetWrite: return PartitionTurn::kLetWrite;
    case Step::kLetReadWhole: return PartitionTurn::kLetReadWhole;
    case Step::kGather: return PartitionTurn::kGather;
    case Step::kShut: return PartitionTurn::kShut;
    default: return PartitionTurn::kEnd;
  }
}

// Memory for a whole that was only read so far, and therefore refused; readers of the parts may still report that. A
// whole that is itself a part may have its memory from the step above.
void hand_memory_down(TaskGraph &rt, PartitionPlan &plan) noexcept {
  Datum &whole = *plan.whole;
  if (!give_memory_to_write(rt, whole)) return;
  const uint32_t at = data_state::space(whole.state.load(std::memory_order_relaxed));
  if (at == data_state::kMany) return;  // it had memory when its parts were opened, and so had they
  const uint32_t space = at << data_state::kSpaceShift;
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    if (is_nowhere(d) && alias(plan, i) >= 0)
      d.state.store((d.state.load(std::memory_order_relaxed) & ((1u << data_state::kSpaceShift) - 1)) | space,
                    std::memory_order_relaxed);
  }
}

void bring_up(TaskGraph &rt, PartitionPlan &plan) noexcept {
  Datum &whole = *plan.whole;
  const uint32_t old = whole.state.load(std::memory_order_relaxed);
  const bool covers = plan.filter->flags & CONSORT_FI_COVER;
  uint32_t valid = covers ? data_state::kValid : old & data_state::kValid;
  uint32_t poisoned = covers ? 0 : old & data_state::kPoisoned;
  std::shared_ptr<const Failure> blame = poisoned ? rt.data.blame(whole) : nullptr;
  for (uint32_t i = 0; i < plan.n; ++i) {
    const Datum &d = *plan.part[i];
    const uint32_t s = d.state.load(std::memory_order_relaxed);
    if (d.pub.bytes) valid &= s;
    if (!(s & data_state::kPoisoned) || poisoned) continue;
    poisoned = data_state::kPoisoned;
    blame = rt.data.blame(d);
  }
  set_contents(rt, whole, (old & ~data_state::kPlain) | valid | poisoned, blame);
}

}  // namespace

bool may_share_bytes(const Datum &one, const Datum &other) noexcept {
  const Datum *a = &one, *b = &other;
  while (depth_of(a) > depth_of(b)) a = above(a);
  while (depth_of(b) > depth_of(a)) b = above(b);
  while (a != b) {
    const Datum *up = above(a), *up_too = above(b);
    if (!up || !up_too) return false;
    const PartitionPlan *p = discipline_if_any(*a)->part_of, *q = discipline_if_any(*b)->part_of;
    if (p == q) return p->filter->flags & CONSORT_FI_OVERLAP;
    a = up;
    b = up_too;
  }
  return true;
}

consort_status enter_trees(SubmissionDraft &draft) noexcept {
  uint32_t n = 0;
  for (uint32_t i = 0; i < draft.nclaims; ++i) n += is_in_tree(draft.claims[i]);
  if (!n) return CONSORT_OK;
  if (draft.unordered)
    return set_error(CONSORT_E_INVAL,
                     "a task without order names a datum that has plans, or a part: their order is what keeps them "
                     "apart, so submit it in order");
  if (n > 1)
    if (const consort_status s = check_apart(draft); s < 0) return s;
  // The needs of one access may undo what a reading access was given before; then that one is repeated.
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t i = 0; i < draft.nclaims; ++i) {
      const Claim &claim = draft.claims[i];
      if (!is_in_tree(claim)) continue;
      Way way{draft, *claim.datum, changes(claim.mode)};
      if (const consort_status s = way.reach(*claim.datum); s < 0) return s;
      if (const consort_status s = way.clear(*claim.datum, nullptr); s < 0) return s;
      moved |= way.moved && n > 1;
    }
  }
  return CONSORT_OK;
}

consort_status end_plan(SubmissionDraft &draft, PartitionPlan &plan) noexcept {
  if (plan.open())
    if (const consort_status s = close_plan(draft, plan); s < 0) return s;
  Task *t = make_step(draft, plan, Step::kEnd);
  if (!t) return CONSORT_E_NOMEM;
  draft.rt.plans.kill_names(plan);
  PartitionPlan **at = &discipline_if_any(*plan.whole)->plans;
  while (*at != &plan) at = &(*at)->next;
  *at = plan.next;
  Linker linker(draft.rt, t);
  linker.after(plan.closer);
  let_internal_go(draft, t, linker);  // this may have freed the plan
  return CONSORT_OK;
}

consort_status end_plans(SubmissionDraft &draft, Datum &d) noexcept {
  const AccessOrder *discipline = discipline_if_any(d);
  while (discipline && discipline->plans)
    if (const consort_status s = end_plan(draft, *discipline->plans); s < 0) return s;
  return CONSORT_OK;
}

static void take_step(TaskGraph &rt, Task *t) noexcept {
  const Step step = step_of(*t);
  if (rt.data.placement) rt.graph_memory->settle_step(t, *step.plan, turn_of(step.what));
  switch (step.what) {
    case Step::kOpen: return hand_down(rt, t, *step.plan, false);
    case Step::kOpenToWrite: return hand_down(rt, t, *step.plan, true);
    case Step::kLetWrite: return hand_memory_down(rt, *step.plan);
    case Step::kLetReadWhole:
    case Step::kGather: return bring_up(rt, *step.plan);
    case Step::kShut:
    case Step::kEnd: return;
  }
}

const char *step_label(const Task &t) noexcept {
  switch (step_of(const_cast<Task &>(t)).what) {
    case Step::kOpen:
    case Step::kOpenToWrite:
    case Step::kLetWrite: return "split of a datum into its parts";
    case Step::kLetReadWhole:
    case Step::kGather:
    case Step::kShut: return "gathering of a datum's parts";
    default: return "end of a plan";
  }
}

namespace {

bool bring_step(Core &core, Task *t) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  const Step step = step_of(*t);
  return rt.data.placement && rt.graph_memory->stage_step(t, *step.plan, turn_of(step.what)) == Outcome::kPending;
}

KindTable::Turn step_ready(Core &core, ThreadState &, Task *t, ReadyBatch &) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  take_step(rt, t);
  return {true};
}

// The plan is freed with its last step, while that step's name is valid: a thread that waited for it finds the plan
// gone.
void end_step(Core &core, ThreadState &, const Task &t) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  const Step &step = step_of(const_cast<Task &>(t));
  if (step.what == Step::kEnd) rt.plans.remove(step.plan);
}

}  // namespace

const KindTable &step_kind() noexcept {
  static constexpr KindTable table{.label = step_label, .bring = bring_step, .ready = step_ready, .end = end_step};
  return table;
}

}  // namespace consort
