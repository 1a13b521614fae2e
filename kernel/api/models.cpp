// models.cpp — model.h: times of tasks.
#include <consort/model.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "api/entry.hpp"
#include "model/models.hpp"
#include "task/access_modes.hpp"
#include "task/eligibility.hpp"
#include "task/footprint.hpp"

using namespace consort;

namespace {

consort_status refuse_codelet(const Runtime &rt, consort_codelet_id id) noexcept {
  return rt.codelets.ever_gave(id)
             ? set_error(CONSORT_E_STALE, "the codelet was removed: its handle is stale")
             : set_error(CONSORT_E_INVAL, "no codelet of this runtime: consort_codelet_add() gives one");
}

consort_status check_what(uint32_t what) noexcept {
  return what <= CONSORT_MODEL_ENERGY ? CONSORT_OK
                                      : set_errorf(CONSORT_E_INVAL,
                                                   "what is %u: CONSORT_MODEL_TIME and CONSORT_MODEL_ENERGY are those "
                                                   "that there are",
                                                   what);
}

consort_status check_curve(const consort_model &m) noexcept {
  if (!ModelCurves::is_kind(m.kind))
    return m.measure || m.exponents || m.nmeasures || m.nterms
               ? set_error(CONSORT_E_INVAL, "model->measure and what goes with it are for the kinds LINEAR to TERMS")
               : CONSORT_OK;
  const bool terms = m.kind == CONSORT_MODEL_TERMS;
  if (m.nmeasures > (terms ? uint32_t{CONSORT_MODEL_MEASURES} : 1) || (m.nmeasures > 1 && !m.measure))
    return set_errorf(CONSORT_E_INVAL, "model->nmeasures is %u: %s", m.nmeasures,
                      !terms      ? "a curve of this kind goes by one"
                      : m.measure ? "4 are the most"
                                  : "without model->measure there is one, the bytes");
  if (terms != (m.nterms != 0) || m.nterms > CONSORT_MODEL_TERMS_MAX || terms != (m.exponents != nullptr))
    return set_error(CONSORT_E_INVAL, "model->exponents and nterms: 1 to 8 terms for the kind TERMS, none for others");
  for (uint32_t i = 0; i < m.nterms * std::max(1u, m.nmeasures); ++i)
    if (!(std::fabs(m.exponents[i]) <= 16))
      return set_errorf(CONSORT_E_INVAL, "model->exponents[%u] is %g: from -16 to 16", i, m.exponents[i]);
  return CONSORT_OK;
}

consort_status check_model(const consort_model &m) noexcept {
  if (m.reserved) return set_error(CONSORT_E_INVAL, "model->reserved is not 0");
  const bool by_function = m.kind >= CONSORT_MODEL_COMMON && m.kind <= CONSORT_MODEL_PER_WORKER;
  if (m.kind > CONSORT_MODEL_TERMS)
    return set_errorf(CONSORT_E_INVAL, "model->kind is %u: see CONSORT_MODEL_* of consort/model.h",
                      m.kind);
  if (by_function != (m.cost != nullptr))
    return set_error(CONSORT_E_INVAL, by_function ? "a model of this kind needs a function: model->cost is NULL"
                                                  : "model->cost is for the kinds COMMON, PER_CLASS and PER_WORKER");
  if (m.nfactors && (m.kind != CONSORT_MODEL_COMMON || !m.factors))
    return set_error(CONSORT_E_INVAL, m.factors ? "model->factors are for the kind COMMON" : "model->factors is NULL");
  for (uint32_t i = 0; i < m.nfactors; ++i)
    if (!m.factors[i].klass || !(m.factors[i].factor > 0) || !std::isfinite(m.factors[i].factor))
      return set_errorf(CONSORT_E_INVAL, "model->factors[%u] needs a class and a factor above 0", i);
  return check_curve(m);
}

// A place of execution for a model: a worker, or a team, numbered after the workers.
struct Place {
  Place(const Runtime &rt, uint32_t id) : team(rt.topology->team(id)), worker(team ? nullptr : rt.workers[id]) {}
  uint32_t klass() const noexcept { return team ? team->klass : worker->klass; }
  std::string name() const { return team ? "team " + team->name : "worker " + worker->unit.name; }
  const Team *team;
  const Worker *worker;
};

// A task that is not submitted, complete enough for a question to a model.
class Example {
 public:
  consort_status read(Runtime &rt, const consort_task_desc *d, uint32_t worker, uint32_t what) {
    if (!d) return set_error(CONSORT_E_INVAL, "task is NULL");
    if (d->size != CONSORT_TASK_BRIEF && d->size < sizeof *d)
      return set_errorf(CONSORT_E_INVAL, "task->size is %u: set it to sizeof(consort_task_desc)", d->size);
    if (const consort_status s = check_what(what); s < 0) return s;
    if (worker >= rt.workers.size() && !rt.topology->team(worker))
      return set_errorf(CONSORT_E_INVAL, "worker %u does not exist: there are %zu, numbered from 0%s", worker,
                        rt.workers.size(), rt.topology->team(static_cast<uint32_t>(rt.workers.size())) ? ", and teams behind them" : "");
    codelet = rt.codelets.find(d->codelet);
    if (!codelet || !codelet->live.load(std::memory_order_acquire)) return refuse_codelet(rt, d->codelet);
    if (d->nuses && !d->uses) return set_error(CONSORT_E_INVAL, "nuses is not 0, but uses is NULL");
    if (d->nuses > kMostUses)
      return set_errorf(CONSORT_E_INVAL, "nuses is %u: a task uses %u data at most", d->nuses, kMostUses);
    for (uint32_t i = 0; i < d->nuses; ++i) {
      Datum *const datum = rt.data.find(d->uses[i].data);
      if (!datum || !DataTable::is(*datum, d->uses[i].data)) return refuse_datum(d->uses[i].data);
      access_.push_back({&datum->pub, d->uses[i].mode, 0});
    }
    const bool whole = d->size != CONSORT_TASK_BRIEF;
    extra_.work = whole ? d->work : 0;
    task.pub = codelet->blank;
    task.pub.naccess = static_cast<uint16_t>(d->nuses);
    task.pub.access = access_.data();
    task.pub.footprint = whole ? d->footprint : 0;
    task.codelet = codelet;
    task.extra = &extra_;
    return CONSORT_OK;
  }
  Task task{};
  Codelet *codelet = nullptr;

 private:
  std::vector<consort_access> access_;
  Extra extra_;
};

void tell_rows(const Models &models, const Model &m, void (*each)(void *, const consort_model_row *), void *user) {
  m.each_row([&](const Row &row) {
    for (uint32_t kind = 0; kind < models.kinds().size(); ++kind)
      for (uint32_t impl = 0; impl < m.impls().size(); ++impl) {
        if (m.impls()[impl].klass != models.kinds()[kind].klass) continue;
        Cell &cell = row.cells[m.place(kind, impl)];
        consort_model_row r{};
        r.size = sizeof r;
        r.what = m.what();
        r.name = m.name().c_str();
        r.klass = models.kinds()[kind].klass.c_str();
        r.arch = models.kinds()[kind].arch.c_str();
        r.impl = m.impls()[impl].name.c_str();
        r.impl_number = impl;
        r.footprint = row.footprint;
        r.bytes = row.bytes;
        const SampleWindow::Figure f = cell.figure();
        r.used = f.used;
        r.median = f.median;
        r.spread = f.spread;
        r.count = cell.count.load(std::memory_order_relaxed);
        r.outliers = cell.outliers.load(std::memory_order_relaxed);
        r.told = row.told ? row.told[m.place(kind, impl)] : NAN;
        const float value = cell.value.load(std::memory_order_relaxed);
        r.expected = std::isnan(value) ? r.told : value;
        if (std::isnan(r.expected) && m.curves().any()) r.expected = m.curves().at(m.place(kind, impl), row.at);
        if (r.count || !std::isnan(r.told)) each(user, &r);
      }
  });
}

CurveShape shape_of(uint32_t kind) noexcept {
  consort_model m = CONSORT_MODEL_INIT;
  m.kind = kind;
  return ModelCurves::shape_of(m);
}

consort_model_curve as_told(const Regression &c, const CurveShape &shape, uint32_t kind) noexcept {
  consort_model_curve out{};
  out.size = sizeof out;
  out.kind = kind;
  out.name = out.klass = out.arch = out.impl = "";
  out.points = static_cast<uint32_t>(c.points);
  out.nterms = shape.terms;
  std::copy_n(c.factors, std::size(out.factors), out.factors);
  out.exponent = c.exponent;
  out.constant = c.constant;
  out.error = c.error;
  out.low = c.low[0];
  out.high = c.high[0];
  return out;
}

void tell_curves(const Models &models, const Model &m, void (*each)(void *, const consort_model_curve *), void *user) {
  for (uint32_t kind = 0; m.curves().any() && kind < models.kinds().size(); ++kind)
    for (uint32_t impl = 0; impl < m.impls().size(); ++impl) {
      consort_model_curve c = as_told(m.curves().curve(m.place(kind, impl)), m.curves().shape(), m.kind());
      c.what = m.what();
      c.impl_number = impl;
      c.name = m.name().c_str();
      c.klass = models.kinds()[kind].klass.c_str();
      c.arch = models.kinds()[kind].arch.c_str();
      c.impl = m.impls()[impl].name.c_str();
      if (c.points) each(user, &c);
    }
}

template <class Each, class F>
consort_status each_model(consort_runtime *shell, consort_codelet_id id, Each each, F f) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!each) return set_error(CONSORT_E_INVAL, "each is NULL");
  if (!id.v) {
    rt->models->each([&](const Model &m) { f(*rt, m); });
    return CONSORT_OK;
  }
  const Codelet *c = rt->codelets.find(id);
  if (!c || !c->live.load(std::memory_order_acquire)) return refuse_codelet(*rt, id);
  for (const uint32_t what : {CONSORT_MODEL_TIME, CONSORT_MODEL_ENERGY})
    if (const Model *m = rt->models->of(*c, what)) f(*rt, *m);
  return CONSORT_OK;
}

}  // namespace

extern "C" {

consort_status consort_codelet_set_model(consort_runtime *shell, consort_codelet_id id, uint32_t what,
                                         const consort_model *model) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  Codelet *c = rt->codelets.find(id);
  if (!c || !c->live.load(std::memory_order_acquire)) return refuse_codelet(*rt, id);
  if (const consort_status s = check_what(what); s < 0) return s;
  constexpr size_t kFirst = offsetof(consort_model, measure);  // size in the first version of the struct
  consort_model whole{};
  if (model) {
    if (model->size < kFirst)
      return set_errorf(CONSORT_E_INVAL, "model->size is %u: set it to sizeof(consort_model)", model->size);
    std::memcpy(&whole, model, std::min<size_t>(model->size, sizeof whole));
    if (const consort_status s = check_model(whole); s < 0) return s;
  }
  return guarded([&]() -> consort_status {
    const auto r = rt->models->set(*c, what, model ? &whole : nullptr);
    return r ? CONSORT_OK : set_error(r.error());
  });
}

consort_status consort_expected(consort_runtime *shell, const consort_task_desc *task, uint32_t worker, uint32_t impl,
                                uint32_t what, double *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  return guarded([&]() -> consort_status {
    Example example;
    if (const consort_status s = example.read(*rt, task, worker, what); s < 0) return s;
    if (rt->models->by_themselves()) rt->models->make(*example.codelet, what);  // reads the stored model
    float x = NAN;
    rt->models->estimate(example.task, what, &worker, 1, impl, &x);
    *out = x;
    if (std::isinf(x))
      return set_errorf(CONSORT_E_UNSUPPORTED, "codelet '%s' has no %s for %s", example.codelet->name.c_str(),
                        impl == CONSORT_NONE ? "implementation" : "such implementation", Place(*rt, worker).name().c_str());
    return std::isnan(x) ? CONSORT_AGAIN : CONSORT_OK;
  });
}

consort_status consort_model_feed(consort_runtime *shell, const consort_task_desc *task, uint32_t worker, uint32_t impl,
                                  uint32_t what, double value) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!(value > 0) || !std::isfinite(value))
    return set_errorf(CONSORT_E_INVAL, "value is %g: a measurement is above 0", value);
  return guarded([&]() -> consort_status {
    Example example;
    if (const consort_status s = example.read(*rt, task, worker, what); s < 0) return s;
    Codelet &c = *example.codelet;
    const Place at(*rt, worker);
    if (impl == CONSORT_NONE) impl = c.entry[at.klass()].impl;
    if (impl >= c.impls.size() || c.impls[impl].klass != at.klass() || (at.team && !may_run(example.task.pub, *at.team)))
      return set_errorf(CONSORT_E_UNSUPPORTED, "codelet '%s' has no such implementation for %s", c.name.c_str(), at.name().c_str());
    Model *const m = rt->models->make(c, what);
    if (!m) return set_error(CONSORT_E_NOMEM, "no memory for a model, or 65536 are known in this runtime");
    TaskFacts facts = m->facts(example.task);
    if (!m->has_history())
      return set_errorf(CONSORT_E_INVAL, "the model of codelet '%s' takes no measurements: it is of another kind",
                        c.name.c_str());
    Cell *const cell = m->cell(facts, rt->models->kind_of(worker), impl);
    if (!cell)
      return set_error(CONSORT_E_NOMEM, "no memory for a size more, or 4096 are known of this codelet's tasks");
    m->measured(*cell, static_cast<float>(value));
    return CONSORT_OK;
  });
}

consort_status consort_model_rows(consort_runtime *shell, consort_codelet_id id,
                                  void (*each)(void *, const consort_model_row *), void *user) {
  return each_model(shell, id, each, [&](const Runtime &rt, const Model &m) { tell_rows(*rt.models, m, each, user); });
}

consort_status consort_model_curves(consort_runtime *shell, consort_codelet_id id,
                                    void (*each)(void *, const consort_model_curve *), void *user) {
  return each_model(shell, id, each, [&](const Runtime &rt, const Model &m) { tell_curves(*rt.models, m, each, user); });
}

consort_status consort_fit(uint32_t kind, const double *x, const double *y, uint32_t n, consort_model_curve *out) {
  if (kind < CONSORT_MODEL_LINEAR || kind > CONSORT_MODEL_POWER_OFFSET)
    return set_errorf(CONSORT_E_INVAL, "kind is %u: CONSORT_MODEL_LINEAR, POWER and POWER_OFFSET have one measure", kind);
  if ((n && (!x || !y)) || !out) return set_error(CONSORT_E_INVAL, "x, y or out is NULL");
  return guarded([&]() -> consort_status {
    std::vector<CurvePoint> points(n);
    for (uint32_t i = 0; i < n; ++i) points[i] = {{x[i]}, y[i]};
    const CurveShape shape = shape_of(kind);
    *out = as_told(fit(shape, points), shape, kind);
    return out->points ? CONSORT_OK : CONSORT_AGAIN;
  });
}

double consort_curve_at(const consort_model_curve *curve, double x) {
  if (!curve || curve->kind < CONSORT_MODEL_LINEAR || curve->kind > CONSORT_MODEL_POWER_OFFSET) return NAN;
  Regression c;
  c.factors[0] = curve->factors[0];
  c.exponent = curve->exponent;
  c.constant = curve->constant;
  c.points = curve->points;
  c.low[0] = curve->low;
  c.high[0] = curve->high;
  return c.at(shape_of(curve->kind), &x);
}

}  // extern "C"
