#include "graph/submission_fields.hpp"

#include <cstdlib>
#include <cstring>

#include "base/last_error.hpp"
#include "base/store_relaxed.hpp"
#include "graph/reduction.hpp"
#include "graph/submission_draft.hpp"
#include "graph/submission_options.hpp"
#include "graph/submission_recorder.hpp"
#include "task/eligibility.hpp"
#include "task/idle_stepper.hpp"
#include "task/packed_args.hpp"

namespace consort {
namespace {

consort_status check_mode(uint32_t mode, uint32_t i) {
  if (!is_mode(mode))
    return set_errorf(CONSORT_E_INVAL,
                      "datum %u of the task: mode 0x%x is none of R, W, RW, SCRATCH, REDUX, RW|COMMUTE", i, mode);
  if ((mode & ~kHints) == CONSORT_M_REDUX || !(mode & CONSORT_M_FIXED_TREE)) return CONSORT_OK;
  return set_errorf(CONSORT_E_INVAL, "datum %u of the task: FIXED_TREE goes with REDUX only", i);
}

// Finds the task's data, checks them as far as possible without the right, and merges repeated ones.
consort_status read_uses(SubmissionDraft &draft, const consort_task_desc &d, const Codelet *c) noexcept {
  if (d.nuses > kFewUses / 2) {  // each may add a hidden one
    draft.claims = static_cast<Claim *>(std::malloc(2 * d.nuses * sizeof(Claim)));
    if (!draft.claims) {
      draft.claims = draft.few;
      return no_memory();
    }
  }
  consort_access *out = draft.t->accesses();
  for (uint32_t i = 0; i < d.nuses; ++i) {
    const consort_use &use = d.uses[i];
    Datum *datum = draft.rt.data.find(use.data);
    if (!datum || !DataTable::is(*datum, use.data)) [[unlikely]] return stale_datum(use, i);
    if (const consort_status s = check_mode(use.mode, i); s < 0) [[unlikely]] return s;
    if (use.reserved) [[unlikely]]
      return set_errorf(CONSORT_E_INVAL, "datum %u of the task: reserved has 0x%x, which has no meaning: it must be 0",
                        i, use.reserved);
    if (c && !c->modes.empty() && c->modes[i] != (use.mode & ~kHints)) [[unlikely]]
      return set_errorf(CONSORT_E_INVAL, "codelet '%s' declares mode 0x%x for datum %u, the task gives 0x%x",
                        c->name.c_str(), c->modes[i], i, use.mode);
    const bool as_tree = (use.mode & CONSORT_M_REDUX) && copies_are_moved(draft.rt);
    const uint32_t mode = use.mode | (as_tree ? uint32_t{CONSORT_M_FIXED_TREE} : 0);
    out[i] = {&datum->pub, mode, 0};
    if (mode & (CONSORT_M_SCRATCH | CONSORT_M_REDUX)) draft.t->bits |= kScratch;
    if (mode & CONSORT_M_SCRATCH) continue;
    uint32_t k = 0;
    while (k < draft.nclaims && draft.claims[k].datum != datum) ++k;
    if (k == draft.nclaims) draft.claims[draft.nclaims++] = {datum, mode};
    else if (((draft.claims[k].mode | mode) & (CONSORT_M_REDUX | CONSORT_M_COMMUTE)) && draft.claims[k].mode != mode)
      return set_errorf(CONSORT_E_INVAL,
                        "datum '%s' is named twice with different modes, one of them REDUX or COMMUTE: use one",
                        draft.rt.data.name(*datum).c_str());
    else draft.claims[k].mode |= mode;
  }
  return CONSORT_OK;
}

// Finds space for accesses and arguments: in the record, beside it, or on the heap.
consort_status place_payload(SubmissionDraft &draft, const consort_task_desc &d) noexcept {
  const uint64_t args = d.nargs ? packed_bytes(d.args, d.nargs) : 0;
  if (args == ~uint64_t{0})
    return set_error(
        CONSORT_E_INVAL,
        "an argument is neither SCALAR (up to 8 bytes) nor BYTES with an address: pass large values by address");
  const uint64_t bytes = d.nuses * sizeof(consort_access) + args;
  std::byte *at = draft.t->payload;
  if (bytes > kPayload && !(at = draft.rt.tasks.payload(draft.rt.tasks.index(draft.t), bytes))) {
    at = static_cast<std::byte *>(draft.extra().spill = std::malloc(bytes));
    if (!at) return no_memory();
  }
  draft.t->pub.access = reinterpret_cast<consort_access *>(at);
  if (d.nargs) pack_args(d.args, d.nargs, at + d.nuses * sizeof(consort_access));
  return CONSORT_OK;
}

consort_status check_team(const Task *t, const Team &team) noexcept {
  const Codelet *c = t->codelet;
  const char *const name = c ? c->name.c_str() : "an empty task";
  if (!c || !c->for_teams())
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "team %s was named for a task of '%s', which no team may run: add the codelet with CL_FORKJOIN or "
                      "CL_SPMD, or name a worker",
                      team.name.c_str(), name);
  if (!(c->where >> team.klass & 1))
    return set_errorf(CONSORT_E_UNSUPPORTED, "codelet '%s' has no implementation for the workers of team %s", name,
                      team.name.c_str());
  if (!may_run(t->pub, team))
    return set_errorf(CONSORT_E_UNSUPPORTED, "team %s has %u workers, but tasks of codelet '%s' run on %u at most (max_team)",
                      team.name.c_str(), team.size(), name, t->pub.team_max);
  return CONSORT_OK;
}

consort_status bind_task(SubmissionDraft &draft, uint32_t unit) noexcept {
  Task *t = draft.t;
  const Team *team = draft.rt.topology->team(unit);
  if (unit >= draft.rt.workers.size() && !team)
    return set_errorf(CONSORT_E_INVAL,
                      "worker %u does not exist: there are %zu, numbered from 0, and %zu teams, numbered from there", unit,
                      draft.rt.workers.size(), draft.rt.topology->teams().size());
  const uint32_t worker = team ? team->members.front() : unit;
  if (team)
    if (const consort_status s = check_team(t, *team); s < 0) return s;
  if (t->codelet && !(t->codelet->where >> draft.rt.workers[worker]->klass & 1))
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "codelet '%s' has no implementation for worker %s, to which the task is bound",
                      t->codelet->name.c_str(), draft.rt.workers[worker]->unit.name.c_str());
  draft.extra().worker = worker;
  t->extra->team = team ? team->id : CONSORT_NONE;
  t->bits |= kBound;
  return CONSORT_OK;
}

consort_status read_predecessors(SubmissionDraft &draft, const consort_task_desc &d) noexcept {
  Extra &e = draft.extra();
  if (!e.make_room_after(d.nafter)) return no_memory();
  for (uint32_t i = 0; i < d.nafter; ++i) {
    const TaskName name = d.after[i].v;
    if (recorded::is(name))
      return set_errorf(
          CONSORT_E_INVAL,
          "predecessor %u is a recorded task, which did not run: only tasks of its recording come after it", i);
    if (!name || !draft.rt.tasks.holds(static_cast<uint32_t>(name)))
      return set_errorf(CONSORT_E_INVAL, "predecessor %u is no task of this runtime", i);
    e.after[i] = name;
  }
  e.nafter = d.nafter;
  draft.t->bits |= kAfter;
  return CONSORT_OK;
}

// The fields behind those of a brief description: footprint, predecessors, callback, name, work.
consort_status read_long_fields(SubmissionDraft &draft, const consort_task_desc &d) noexcept {
  if (d.footprint) store_relaxed(draft.t->pub.footprint, d.footprint);
  if (!d.nafter && !d.done && !d.done_arg && !d.name && !d.work) return CONSORT_OK;
  if (d.nafter && !d.after) return set_error(CONSORT_E_INVAL, "nafter is not 0, but after is NULL");
  Extra &e = draft.extra();
  e.done = d.done;
  e.done_arg = d.done_arg;
  e.work = d.work;
  if (d.done && draft.rt.virtual_time) draft.rt.idle_stepper->begin();
  if (d.name && !e.set_name(d.name)) return no_memory();
  return d.nafter ? read_predecessors(draft, d) : CONSORT_OK;
}

consort_status no_unit_for(const TaskGraph &rt, const Codelet &c) {
  std::string wants, has;
  for (const auto &impl : c.impls) {  // an implementation for a class of this machine was of no use: find the reason
    const int bit = rt.topology->class_bit(impl.klass_name.c_str());
    if (bit < 0) continue;
    const std::string &runs = rt.topology->runs(static_cast<uint32_t>(bit));
    if (!runs.empty())
      return set_errorf(CONSORT_E_UNSUPPORTED,
                        "codelet '%s' runs on %s, but what plays %s here calls its function for %s, and it has none: "
                        "add an implementation for %s",
                        c.name.c_str(), impl.klass_name.c_str(), impl.klass_name.c_str(), runs.c_str(), runs.c_str());
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "codelet '%s' has a kernel as text for %s, and the units of that class take none: give a function",
                      c.name.c_str(), impl.klass_name.c_str());
  }
  for (const auto &impl : c.impls) wants += (wants.empty() ? "" : ", ") + impl.klass_name;
  for (const char *klass : rt.topology->classes()) has += (has.empty() ? "" : ", ") + std::string(klass);
  return set_errorf(
      CONSORT_E_UNSUPPORTED,
      "codelet '%s' runs on %s only, this runtime has %s: add an implementation, or the driver to `drivers`",
      c.name.c_str(), wants.c_str(), has.c_str());
}


}  // namespace

consort_status stale_datum(const consort_use &use, uint32_t i) {
  return set_errorf(use.data.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
                    use.data.v ? "datum %u of the task is not registered (any more): its handle is stale"
                               : "datum %u of the task is the null handle: register it first",
                    i);
}

const consort_task_desc &copy_fields(const consort_task_desc &given, consort_task_desc &whole) noexcept {
  whole = CONSORT_TASK_INIT;
  std::memcpy(&whole, &given, given.size);
  return whole;
}

consort_status refuse_flags(const consort_task_desc &d) noexcept {
  if (d.flags & ~kTaskFlags)
    return set_errorf(CONSORT_E_INVAL, "task->flags has 0x%x, which this runtime does not know", d.flags & ~kTaskFlags);
  return set_errorf(CONSORT_E_INVAL,
                    "task->reserved has 0x%x, which has no meaning: it must be 0, as CONSORT_TASK_INIT makes it",
                    d.reserved);
}

consort_status refuse_codelet(const TaskGraph &rt, const consort_task_desc &d, const Codelet *c) noexcept {
  if (!c || !c->live.load(std::memory_order_relaxed))
    return c || rt.codelets.ever_gave(d.codelet)
               ? set_error(CONSORT_E_STALE, "the codelet was removed: its handle is stale")
               : set_error(CONSORT_E_INVAL, "no codelet of this runtime: consort_codelet_add() gives one");
  if (!c->where) return no_unit_for(rt, *c);
  return set_errorf(CONSORT_E_INVAL, "codelet '%s' wants %u data, the task gives %u", c->name.c_str(), c->nmodes, d.nuses);
}

consort_status refuse_counts(const consort_task_desc &d) noexcept {
  if ((d.nuses && !d.uses) || (d.nargs && !d.args))
    return set_error(CONSORT_E_INVAL, "uses or args is NULL, but their number is not 0");
  return set_errorf(CONSORT_E_INVAL, "%u data and %u arguments: a task takes up to %u data and 255 arguments", d.nuses,
                    d.nargs, kMostUses);
}

consort_status refuse_group() noexcept {
  return set_error(CONSORT_E_STALE, "the group was destroyed: its handle is stale");
}

consort_status read_fields(SubmissionDraft &draft, const consort_task_desc &d, RepeatState *again) noexcept {
  Task *t = draft.t;
  const Codelet *c = t->codelet;
  const bool is_long = d.size != CONSORT_TASK_BRIEF;
  if (d.worker != CONSORT_NONE)
    if (const consort_status s = bind_task(draft, d.worker); s < 0) return s;
  if ((d.flags & CONSORT_TASK_REPEAT) || (is_long && d.more))
    if (const consort_status s = read_more(draft, d, again); s < 0) return s;
  if (is_long)
    if (const consort_status s = read_long_fields(draft, d); s < 0) return s;
  if ((c && c->for_teams()) || draft.rt.shared_domains) draft.extra();
  draft.unordered = d.flags & CONSORT_TASK_UNORDERED;
  if (!(d.nuses | d.nargs)) return CONSORT_OK;
  t->pub.naccess = static_cast<uint16_t>(d.nuses);
  t->nargs = static_cast<uint8_t>(d.nargs);
  if (const consort_status s = place_payload(draft, d); s < 0) [[unlikely]] return s;
  return read_uses(draft, d, c);
}

}  // namespace consort
