#include "replay/recorder.hpp"

#include <algorithm>
#include <cstring>

#include "base/last_error.hpp"
#include "graph/access_order.hpp"
#include "graph/link_steps.hpp"
#include "graph/submission_draft.hpp"
#include "replay/replaying.hpp"
#include "task/packed_args.hpp"

namespace consort {

bool Recorder::wants(const ThreadState &thread) const noexcept { return thread.task == inside && !thread.in_callback; }

consort_status Recorder::refuse(consort_status s, const char *text) noexcept {
  if (refused < 0) return s;
  refused = s;
  try {
    why = text;
  } catch (const std::bad_alloc &) {
    why.clear();
  }
  return s;
}

bool Recorder::index_of(TaskName name, uint32_t *out) const noexcept {
  if (recorded::is(name)) {
    *out = static_cast<uint32_t>(name);
    return name == recorded::make(serial, *out) && *out < items.size();
  }
  const auto it = ids.find(name);
  if (it == ids.end()) return false;
  *out = it->second;
  return true;
}

consort_status Recorder::look(const consort_task_desc &d) noexcept {
  consort_task_desc *const plain = &now;
  *plain = CONSORT_TASK_INIT;
  std::memcpy(plain, &d, std::min<size_t>(d.size, sizeof d));
  plain->size = sizeof *plain;
  const char *what = plain->flags & CONSORT_TASK_REPEAT ? "a task that comes again"
                     : plain->done || plain->done_arg   ? "a completion callback"
                     : plain->more ? "what order.h adds to a task (tags, hooks, ends that are held, bundles)"
                                   : nullptr;
  for (uint32_t i = 0; plain->uses && i < plain->nuses; ++i)
    if (plain->uses[i].mode & CONSORT_M_REDUX) what = "a reduction";
  if (plain->group.v && plain->group.v != rt.standard_group->id().v)
    what = "a group of its own (a replay is told its group)";
  if (what)
    return set_errorf(CONSORT_E_UNSUPPORTED, "%s cannot be recorded: submit this task outside of the recording", what);
  nafter = plain->after ? plain->nafter : 0;
  for (uint32_t i = 0; i < nafter; ++i)
    if (uint32_t unused; !index_of(plain->after[i].v, &unused))
      return set_errorf(CONSORT_E_INVAL, "predecessor %u is no task of this recording", i);
  if (nafter && (flags & CONSORT_RECORD_ONLY)) plain->nafter = 0;
  return CONSORT_OK;
}

consort_status Recorder::copy(SubmissionDraft &draft) {
  const consort_task_desc &d = now;
  const Task &t = *draft.t;
  const Extra *e = t.extra;
  Item item{d.codelet, d.footprint, e ? e->work : 0, t.pub.naccess, t.nargs, 0, 0, t.pub.priority,
            t.bits & kBound ? e->worker : CONSORT_NONE, 0, draft.unordered};
  item.for_teams = t.codelet && t.codelet->for_teams();
  if (t.bits & kBound) item.team = e->team;
  if (items.size() == (1u << word::kRecordBits))
    return set_error(CONSORT_E_NOMEM, "16777216 tasks are recorded: a recording takes no more");
  for (uint32_t i = 0; i < nafter; ++i) {
    uint32_t index = 0;
    index_of(d.after[i].v, &index);
    after.push_back(index);
    ++item.nafter;
  }
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const consort_access &a = t.pub.access[i];
    Datum *datum = Datum::of(a.datum);
    if (is_part(*datum))
      return set_errorf(CONSORT_E_UNSUPPORTED, "'%s' is a part of a datum: parts cannot be recorded yet",
                        rt.data.name(*datum).c_str());
    if (const AccessOrder *discipline = discipline_if_any(*datum); discipline && discipline->formats)
      return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' has several formats: it cannot be recorded",
                        rt.data.name(*datum).c_str());
    // Reserve first: after a failure between the two, the next task would find an invalid index.
    if (data.size() == data.capacity()) data.reserve(2 * data.size() + 8);
    const auto [it, fresh] = place.try_emplace(datum, static_cast<uint32_t>(data.size()));
    if (fresh) data.push_back({datum, datum->pub.id, 0, 0});
    Recording::Use &use = data[it->second];
    const AccessOrder *discipline = discipline_if_any(*datum);
    const bool loose = draft.unordered || (discipline && !discipline->ordered);
    // A scratch datum counts as read by the whole, so that it lives long enough.
    use.mode |= a.mode & CONSORT_M_SCRATCH ? uint32_t{CONSORT_M_R} : a.mode & CONSORT_M_RW;
    use.tokens |= (a.mode & CONSORT_M_COMMUTE) && !loose;
    uses.push_back({it->second, a.mode, loose});
  }
  const auto *packed = reinterpret_cast<const std::byte *>(t.pub.access + t.pub.naccess);
  item.arg_bytes = d.nargs ? static_cast<uint32_t>(packed_bytes(d.args, d.nargs)) : 0;
  args.insert(args.end(), packed, packed + item.arg_bytes);
  if (e && e->name) {
    names.emplace_back(e->name);
    item.name = static_cast<uint32_t>(names.size());
  }
  if (!(flags & CONSORT_RECORD_ONLY)) ids.emplace(t.pub.id, static_cast<uint32_t>(items.size()));
  items.push_back(item);
  return CONSORT_OK;
}

bool Recorder::is_loose() const noexcept {
  return std::any_of(uses.begin(), uses.end(), [](const Use &use) { return use.loose; }) ||
         std::any_of(items.begin(), items.end(), [](const Item &item) { return item.unordered; });
}

consort_status Recorder::submit(ThreadState &thread, const consort_task_desc &d, consort_task_id *out) noexcept {
  if (!wants(thread)) return submit_any(rt, d, out);
  consort_status s = look(d);
  if (s >= 0) s = submit_any(rt, now, out, nullptr, this);
  return s < 0 ? refuse(s, error_text()) : s;
}

consort_status Recorder::take(SubmissionDraft &draft, consort_task_id *out) noexcept {
  try {
    const auto index = static_cast<uint32_t>(items.size());
    if (const consort_status s = copy(draft); s < 0) return s;
    if (!(flags & CONSORT_RECORD_ONLY)) return CONSORT_AGAIN;
    if (out) out->v = recorded::make(serial, index);
    return CONSORT_OK;
  } catch (const std::bad_alloc &) {
    return set_error(CONSORT_E_NOMEM, "no memory to record another task");
  }
}

}  // namespace consort
