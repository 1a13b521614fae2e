#include "graph/format_cost.hpp"

#include <cmath>

#include "graph/formats.hpp"
#include "graph/submission_draft.hpp"

namespace consort {
namespace {

constexpr uint32_t kMostAccesses = 32;  // the time of a task with more is unknown

// Returns the least time of the units of these classes, in ns. NaN: unknown.
float fastest(const TaskGraph &rt, const Task &t, uint64_t classes) noexcept {
  const Codelet &c = *t.codelet;
  const Model *m = rt.models->of(c, CONSORT_MODEL_TIME);
  if (!m) return NAN;
  TaskFacts facts = m->facts(t);
  float least = NAN;
  for (uint32_t kind = 0; kind < rt.models->kinds().size(); ++kind) {
    const Models::Kind &k = rt.models->kinds()[kind];
    if (k.team > 1 || !(classes >> k.class_bit & 1)) continue;
    for (uint32_t impl = 0; impl < c.impls.size(); ++impl) {
      if (c.impls[impl].klass != k.class_bit) continue;
      const float x = m->expected(facts, kind, k.unit, impl);
      if (!std::isnan(x) && !(x >= least)) least = x;
    }
  }
  return least;
}

// A task that is never submitted: a model is asked about it.
struct Question {
  Question(const Codelet &c, const consort_task &like) {
    task.pub = like;
    task.pub.access = access;
    task.codelet = const_cast<Codelet *>(&c);
  }
  Task task{};
  consort_access access[kMostAccesses];
};

float time_of_conversion(const TaskGraph &rt, const Formats &formats, uint32_t from, uint32_t to) noexcept {
  const Codelet *c = rt.codelets.find(to ? formats.all[to].to : formats.all[from].from);
  if (!c) return NAN;
  Question q(*c, c->blank);
  q.task.pub.naccess = 2;
  q.access[0] = {&formats.all[from].datum->pub, CONSORT_M_R, 0};
  q.access[1] = {&formats.all[to].datum->pub, CONSORT_M_W, 0};
  return fastest(rt, q.task, c->where);
}

void add_conversions(const TaskGraph &rt, const Formats &formats, uint32_t to, FormatCost &cost) noexcept {
  if (formats.all[to].holds) return;
  if (!formats.all[0].holds) {  // through the first format
    uint32_t from = 1;
    while (from < formats.all.size() && !formats.all[from].holds) ++from;
    if (from == formats.all.size()) return;  // not written yet
    ++cost.conversions;
    cost.ns += time_of_conversion(rt, formats, from, 0);
  }
  if (!to) return;
  ++cost.conversions;
  cost.ns += time_of_conversion(rt, formats, 0, to);
}

float time_in_class(const SubmissionDraft &draft, uint32_t klass) noexcept {
  const Task &t = *draft.t;
  if (t.pub.naccess > kMostAccesses) return NAN;
  Question q(*t.codelet, t.pub);
  q.task.extra = t.extra;
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    q.access[i] = t.pub.access[i];
    if (const Formats *f = formats_of(*Datum::of(q.access[i].datum)); f && !(q.access[i].mode & CONSORT_M_SCRATCH))
      q.access[i].datum = &f->all[f->of_class(klass)].datum->pub;
  }
  return fastest(draft.rt, q.task, uint64_t{1} << klass);
}

}  // namespace

FormatCost cost_in_class(const SubmissionDraft &draft, uint32_t klass) noexcept {
  FormatCost cost;
  for (uint32_t i = 0; i < draft.nclaims; ++i)
    if (const Formats *f = formats_of(*draft.claims[i].datum); f && (draft.claims[i].mode & CONSORT_M_R))
      add_conversions(draft.rt, *f, f->of_class(klass), cost);
  cost.ns += time_in_class(draft, klass);
  return cost;
}

}  // namespace consort
