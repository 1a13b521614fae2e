#include "model/model.hpp"

#include <algorithm>
#include <new>

#include "model/models.hpp"
#include "task/codelet.hpp"
#include "task/data.hpp"
#include "task/footprint.hpp"
#include "task/task_bytes.hpp"

namespace consort {
namespace {

uint32_t sizes_of(const consort_model_ask *ask, uint32_t datum, uint64_t *out, uint32_t max) {
  if (datum >= ask->naccess) return 0;
  const Datum &d = *Datum::of(ask->access[datum].datum);
  return d.layout && d.layout->ops->sizes ? d.layout->ops->sizes(d.shape(), out, max) : 0;
}

consort_model_ask ask_about(const TaskFacts &facts) noexcept {
  const Task &t = *facts.task;
  consort_model_ask a{};
  a.size = sizeof a;
  a.naccess = t.pub.naccess;
  a.codelet = t.codelet->name.c_str();
  a.klass = a.arch = "";
  a.worker = a.impl = CONSORT_NONE;
  a.bytes = task_bytes(t.pub);
  a.footprint = facts.footprint;
  a.work = facts.work;
  a.access = t.pub.access;
  a.sizes = sizes_of;
  return a;
}

constexpr float kUnlike = 2, kUnlikeSpreads = 6;  // a stored time off by more than this is not of this machine

double checked(double x) noexcept { return x >= 0 && std::isfinite(x) ? x : NAN; }

constexpr uint64_t footprint_of_bytes(uint64_t bytes) noexcept { return mix(0x62797465735f6f66u, bytes); }

std::unique_ptr<Cell[]> cells(size_t n) {
  auto all = std::make_unique<Cell[]>(n);
  for (size_t i = 0; i < n; ++i) all[i].place = static_cast<uint32_t>(i);
  return all;
}

}  // namespace

SampleWindow::Figure Cell::figure() noexcept {
  for (Backoff wait; busy.exchange(true, std::memory_order_acquire);) wait.once();
  const SampleWindow::Figure f = window.figure();
  busy.store(false, std::memory_order_release);
  return f;
}

uint64_t TaskFacts::all_bytes() noexcept { return bytes == kUnasked ? bytes = task_bytes(task->pub) : bytes; }

Model::Model(Models &models, std::string name, std::vector<Impl> impls, uint32_t what, const consort_model &desc)
    : models_(models), name_(std::move(name)), impls_(std::move(impls)), what_(what), desc_(desc),
      curves_(desc, models.kinds().size() * impls_.size()) {
  for (uint32_t i = 0; i < desc.nfactors; ++i) factors_.emplace_back(desc.factors[i].klass, desc.factors[i].factor);
  desc_.factors = nullptr;
  desc_.exponents = nullptr;
  desc_.name = nullptr;
}

Model::~Model() {
  for (const auto &b : buckets_)
    for (Row *r = b.load(std::memory_order_relaxed); r;) delete std::exchange(r, r->next);
}

bool Model::is(const std::string &name, const std::vector<Impl> &impls, uint32_t what,
               const consort_model &d) const noexcept {
  if (name != name_ || what != what_ || d.kind != desc_.kind || d.footprint != desc_.footprint ||
      d.cost != desc_.cost || d.user != desc_.user || d.measure != desc_.measure || d.nfactors != factors_.size() ||
      impls != impls_ || !curves_.is(d))
    return false;
  for (uint32_t i = 0; i < d.nfactors; ++i)
    if (factors_[i].first != d.factors[i].klass || factors_[i].second != d.factors[i].factor) return false;
  return true;
}

TaskFacts Model::facts(const Task &t) const noexcept {
  TaskFacts f;
  f.task = &t;
  f.work = work_of(t);
  f.footprint = footprint_of(t);
  if (desc_.footprint) {
    try {
      const consort_model_ask ask = ask_about(f);
      f.footprint = desc_.footprint(desc_.user, &ask);
    } catch (...) {  // a measure function that throws: use the data sizes
    }
    if (!f.footprint) f.footprint = 1;
  } else if (f.work && !has_own_footprint(t)) {
    f.footprint = mix(f.footprint, f.work);
  }
  f.row = find(f.footprint);
  return f;
}

const Row *Model::find(uint64_t footprint) const noexcept {
  // acquire pairs with the release in link()
  const Row *r = buckets_[footprint % kBuckets].load(std::memory_order_acquire);
  while (r && r->footprint != footprint) r = r->next;
  return r;
}

Row *Model::link(std::unique_ptr<Row> row) noexcept {
  auto &bucket = buckets_[row->footprint % kBuckets];
  row->next = bucket.load(std::memory_order_relaxed);
  bucket.store(row.get(), std::memory_order_release);  // the row is complete; pairs with find() and each_row()
  ++nrows_;
  return row.release();
}

Row *Model::row_for(uint64_t footprint, uint64_t bytes) {
  if (Row *row = const_cast<Row *>(find(footprint)); row || nrows_ == kMostRows) return row;
  auto made = std::make_unique<Row>();
  made->footprint = footprint;
  made->bytes = bytes;
  made->cells = cells(models_.kinds().size() * impls_.size());
  if (!desc_.measure) made->at[0] = static_cast<double>(bytes);
  return link(std::move(made));
}

void Model::bring(const StoredCell &c, uint32_t kind, uint32_t impl) {
  Row *row = row_for(footprint_of_bytes(c.bytes), c.bytes);
  if (!row) return;
  row->brought = has_brought_ = true;
  row->cells[place(kind, impl)].value.store(figure_of(c.samples).median, std::memory_order_relaxed);
}

float Model::brought(TaskFacts &facts, size_t place) const noexcept {
  const Row *r = find(footprint_of_bytes(facts.all_bytes()));
  return r && r->brought ? r->cells[place].value.load(std::memory_order_relaxed) : NAN;
}

void Model::restore(const StoredCell &c, uint32_t kind, bool told) {
  Row *row = row_for(c.footprint, c.bytes);
  if (!row) return;
  if (desc_.measure) std::copy_n(c.at.begin(), std::min(c.at.size(), std::size(row->at)), row->at);
  Cell &cell = row->cells[place(kind, c.impl)];
  for (const float x : c.samples) cell.window.add(x);
  cell.count.store(static_cast<uint32_t>(std::min<uint64_t>(c.count, UINT32_MAX / 2)), std::memory_order_relaxed);
  cell.outliers.store(static_cast<uint32_t>(std::min<uint64_t>(c.outliers, c.count)), std::memory_order_relaxed);
  cell.anew = !told;
  if (c.samples.size() < models_.enough()) return;
  cell.stored = cell.window.figure().median;
  if (told) cell.value.store(cell.stored, std::memory_order_relaxed);
}

// Compares stored values with this machine, once there are enough new measurements.
void Model::weigh_stored(Cell &cell) noexcept {
  const auto all = cell.window.values();
  const SampleWindow::Figure now = figure_of(all.last(std::min<size_t>(cell.fresh, all.size())));
  const float stored = std::exchange(cell.stored, NAN);
  const float high = std::max(now.median, stored), low = std::min(now.median, stored);
  if (high < kUnlike * low || high - low < kUnlikeSpreads * now.spread) return;
  cell.window.keep_last(cell.fresh);
  if (!told_.exchange(true, std::memory_order_relaxed)) models_.warn_of(*this, stored, now.median, cell.fresh);
}

Row *Model::add(TaskFacts &facts) noexcept try {
  const size_t n = models_.kinds().size() * impls_.size();
  const double *const at = curves_.any() ? measures(facts) : nullptr;
  std::lock_guard lock(mutex_);
  if (const Row *other = find(facts.footprint)) return const_cast<Row *>(other);
  if (nrows_ == kMostRows) return nullptr;
  auto row = std::make_unique<Row>();
  row->footprint = facts.footprint;
  row->bytes = facts.all_bytes();
  row->cells = cells(n);
  if (at) std::copy_n(at, curves_.shape().measures, row->at);
  row->told = std::make_unique<float[]>(n);
  for (uint32_t kind = 0; kind < models_.kinds().size(); ++kind)
    for (uint32_t impl = 0; impl < impls_.size(); ++impl)
      row->told[place(kind, impl)] =
          what_ == CONSORT_MODEL_TIME ? static_cast<float>(models_.told(facts, kind, impl)) : NAN;
  return link(std::move(row));
} catch (const std::bad_alloc &) {
  return nullptr;  // this size stays unknown
}

Cell *Model::cell(TaskFacts &facts, uint32_t kind, uint32_t impl) noexcept {
  if (!has_history() || impl >= impls_.size()) return nullptr;
  if (!facts.row) facts.row = add(facts);
  return facts.row ? &facts.row->cells[place(kind, impl)] : nullptr;
}

void Model::measured(Cell &cell, float x) noexcept {
  if (!(x > 0) || !std::isfinite(x)) return;  // a clock that stands still measures nothing
  if (cell.busy.load(std::memory_order_relaxed) || cell.busy.exchange(true, std::memory_order_acquire)) return;
  news_.store(true, std::memory_order_relaxed);
  if (cell.window.add(x)) cell.outliers.fetch_add(1, std::memory_order_relaxed);
  const uint32_t n = cell.count.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool full = n > SampleWindow::kMost;
  if (++cell.fresh == models_.enough()) {
    if (!std::isnan(cell.stored)) weigh_stored(cell);
    if (std::exchange(cell.anew, false)) cell.window.keep_last(cell.fresh);
  }
  const bool drifted = n % 4 == 0 && cell.window.drop_if_drifted();
  bool at_last = false, changed = false;
  if (n >= models_.enough() && !cell.anew && (!full || drifted || n % 4 == 0 || cell.fresh == models_.enough())) {
    at_last = std::isnan(cell.value.load(std::memory_order_relaxed));
    changed = true;
    cell.value.store(cell.window.figure().median, std::memory_order_relaxed);
  }
  cell.busy.store(false, std::memory_order_release);
  if (!changed || !curves_.any() || !curves_.learned(cell.place, at_last)) return;
  try {
    if (std::unique_lock lock(mutex_, std::try_to_lock); lock) draw(cell.place);
  } catch (const std::bad_alloc &) {  // the curve stays as it is
  }
}

// Fits the curve through the estimates of all sizes with enough measurements.
void Model::draw(size_t place) {
  std::vector<CurvePoint> points;
  each_row([&](const Row &row) {
    CurvePoint p{{}, row.cells[place].value.load(std::memory_order_relaxed)};
    std::copy_n(row.at, std::size(p.at), p.at);
    if (!std::isnan(p.value)) points.push_back(p);
  });
  curves_.put(place, fit(curves_.shape(), points));
}

void Model::restored() noexcept try {
  if (!curves_.any()) return;
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < models_.kinds().size() * impls_.size(); ++i) draw(i);
} catch (const std::bad_alloc &) {  // fitted later, when there are more measurements
}

const double *Model::measures(TaskFacts &f) const noexcept {
  if (f.row) return f.row->at;
  if (std::exchange(f.has_at, true)) return f.at;
  std::fill(std::begin(f.at), std::end(f.at), NAN);
  if (!desc_.measure) {
    f.at[0] = static_cast<double>(f.all_bytes());
    return f.at;
  }
  try {
    const consort_model_ask ask = ask_about(f);
    desc_.measure(desc_.user, &ask, f.at);
  } catch (...) {  // a function that throws: no curve
    std::fill(std::begin(f.at), std::end(f.at), NAN);
  }
  return f.at;
}

double Model::ask(const TaskFacts &facts, uint32_t kind, uint32_t worker, uint32_t impl) const noexcept try {
  consort_model_ask a = ask_about(facts);
  a.impl = impl;
  const Models::Kind &k = models_.kinds()[kind];
  if (desc_.kind != CONSORT_MODEL_COMMON) a.klass = k.klass.c_str(), a.arch = k.arch.c_str();
  if (desc_.kind == CONSORT_MODEL_PER_WORKER) a.worker = worker;
  double x = checked(desc_.cost(desc_.user, &a));
  for (const auto &[klass, factor] : factors_)
    if (klass == k.klass) x *= factor;
  return x;
} catch (...) {
  return NAN;  // a function that throws: unknown
}

float Model::expected(TaskFacts &facts, uint32_t kind, uint32_t worker, uint32_t impl) const noexcept {
  switch (desc_.kind) {
    case CONSORT_MODEL_COMMON:
    case CONSORT_MODEL_PER_CLASS:
    case CONSORT_MODEL_PER_WORKER: return static_cast<float>(ask(facts, kind, worker, impl));
    case CONSORT_MODEL_NONE: break;
    default:
      if (impl >= impls_.size()) break;
      float x = facts.row ? facts.row->cells[place(kind, impl)].value.load(std::memory_order_relaxed) : NAN;
      if (!std::isnan(x)) return x;
      if (has_brought_ && !std::isnan(x = brought(facts, place(kind, impl)))) return x;
      if (facts.row && !facts.work && facts.row->told) x = facts.row->told[place(kind, impl)];
      else if (what_ == CONSORT_MODEL_TIME) x = static_cast<float>(models_.told(facts, kind, impl));
      return curves_.any() && std::isnan(x) ? static_cast<float>(curves_.at(place(kind, impl), measures(facts))) : x;
  }
  return what_ == CONSORT_MODEL_TIME ? static_cast<float>(models_.told(facts, kind, impl)) : NAN;
}

}  // namespace consort
