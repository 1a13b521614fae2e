#include "observe/graph_log.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/file_text.hpp"
#include "graph/access_order.hpp"
#include "graph/partition_plan.hpp"
#include "model/models.hpp"
#include "observe/fields.hpp"
#include "observe/observation.hpp"
#include "task/codelet.hpp"
#include "task/footprint.hpp"

namespace consort {
namespace {

char letter_of(uint32_t mode) noexcept {
  if (!shares(mode)) return mode & CONSORT_M_R ? 'u' : 'w';
  return changes(mode) ? 'c' : 'r';
}

// Returns the space if the datum has contents in one alone. Once contents have moved, the log cannot tell what a run
// had to move.
uint32_t space_of(const Datum &d) noexcept {
  const uint32_t state = d.state.load(std::memory_order_relaxed), space = data_state::space(state);
  return (state & data_state::kValid) && space < Topology::kMaxSpaces ? space : CONSORT_NONE;
}

}  // namespace

uint32_t GraphLog::datum_of(const Datum &d) {
  const auto [at, fresh] = data_index_.try_emplace(d.pub.id, static_cast<uint32_t>(data_.size()));
  if (!fresh) return at->second;
  const uint32_t number = at->second;
  const AccessOrder *discipline = discipline_if_any(d);
  const PartitionPlan *plan = discipline ? discipline->part_of : nullptr;
  try {
    data_.push_back({d.pub.id, d.pub.bytes, plan ? plan->whole->pub.id : 0, space_of(d)});
    if (plan) datum_of(*plan->whole);
  } catch (...) {
    if (data_.size() == number) data_index_.erase(d.pub.id);
    throw;
  }
  return number;
}

// Called without the mutex, because models have locks of their own.
GraphLog::StartReport GraphLog::ask(const Task &t, uint32_t what) const {
  StartReport told;
  std::vector<uint32_t> workers;
  for (uint32_t w = 0; w < rt_.workers.size(); ++w) workers.push_back(w);
  told.on.resize(workers.size());
  rt_.models->asked();
  rt_.models->estimate(t, what, workers.data(), static_cast<uint32_t>(workers.size()), CONSORT_NONE, told.on.data());
  if ((told.model = rt_.models->of(*t.codelet, what))) told.row = told.model->facts(t).footprint;
  return told;
}

void GraphLog::submitted(const Task &t, const Claim *claims, uint32_t n, const TaskName *after,
                         uint32_t nafter) noexcept try {
  const Codelet *const c = t.codelet;
  const Key key{c ? c->number : CONSORT_NONE, c ? c->generation : 0, c ? footprint_of(t) : 0, c ? work_of(t) : 0};
  StartReport time, energy;
  bool asks = false;
  if (c) {
    const std::lock_guard lock(mutex_);
    const auto at = index_.find(key);
    asks = at == index_.end() || (!kinds_[at->second].known && std::has_single_bit(kinds_[at->second].count + 1));
  }
  if (asks) {
    time = ask(t, CONSORT_MODEL_TIME);
    if (rt_.models->of(*c, CONSORT_MODEL_ENERGY)) energy = ask(t, CONSORT_MODEL_ENERGY);
  }

  const uint64_t now = rt_.clock.now();
  const std::lock_guard lock(mutex_);
  if (tasks_.size() >= most_) {
    ++lost_;
    return;
  }
  const auto [at, fresh] = index_.try_emplace(key, static_cast<uint32_t>(kinds_.size()));
  if (fresh) {
    TaskFacts facts;
    facts.task = &t;
    try {
      kinds_.push_back({c ? c->name : std::string(), key.footprint, facts.all_bytes(), 0, false, {}, {}});
    } catch (...) {
      index_.erase(at);
      throw;
    }
  }
  Kind &kind = kinds_[at->second];
  ++kind.count;
  if (asks) {
    const auto unknown = [](float x) { return std::isnan(x); };
    kind.known = std::none_of(time.on.begin(), time.on.end(), unknown) &&
                 std::none_of(energy.on.begin(), energy.on.end(), unknown);
    kind.time = std::move(time);
    kind.energy = std::move(energy);
  }
  const size_t uses = uses_.size(), afters = after_.size();
  try {
    for (uint32_t i = 0; i < n; ++i)
      if (!(claims[i].mode & Claim::kLoose)) uses_.push_back({datum_of(*claims[i].datum), letter_of(claims[i].mode)});
    for (uint32_t i = 0; i < nafter; ++i)
      if (after[i]) after_.push_back(after[i]);
    tasks_.push_back({t.pub.id, at->second, now, t.pub.priority, static_cast<uint32_t>(uses_.size() - uses),
                      static_cast<uint32_t>(after_.size() - afters)});
  } catch (...) {
    uses_.resize(uses);
    after_.resize(afters);
    throw;
  }
  if (tasks_.size() == 1) began_ = now;
} catch (const std::bad_alloc &) {
  const std::lock_guard lock(mutex_);
  ++lost_;
}

void GraphLog::clear() noexcept {
  const std::lock_guard lock(mutex_);
  index_.clear();
  kinds_.clear();
  data_index_.clear();
  data_.clear();
  tasks_.clear();
  uses_.clear();
  after_.clear();
  lost_ = 0;
}

// Prefers the current measurement to the time known at submission, before any of the tasks ran.
float GraphLog::now_on(const StartReport &told, uint32_t worker) const noexcept {
  const float then = told.on[worker];
  const Row *const row = told.model && told.model->has_history() ? told.model->find(told.row) : nullptr;
  if (!row || std::isinf(then)) return then;
  const uint32_t unit = rt_.models->kind_of(worker);
  float measured = NAN;
  for (uint32_t i = 0; i < told.model->impls().size(); ++i) {
    if (told.model->impls()[i].klass != rt_.models->kinds()[unit].klass) continue;
    const float x = row->cells[told.model->place(unit, i)].value.load(std::memory_order_relaxed);
    if (!std::isnan(x) && !(measured <= x)) measured = x;
  }
  return std::isnan(measured) ? then : measured;
}

void GraphLog::tell(std::string *all, const Kind &k, size_t number) const {
  *all += "kind\t";
  append(all, number, '\t');
  *all += k.name.empty() ? "-" : one_line(k.name);
  append_line(all, "", Hex{k.footprint}, k.bytes);
  for (uint32_t w = 0; w < k.time.on.size(); ++w) {
    const float ns = now_on(k.time, w);
    if (!std::isinf(ns)) append_line(all, "time", number, w, std::isnan(ns) ? -1.f : ns);
  }
  for (uint32_t w = 0; w < k.energy.on.size(); ++w) {
    const float uj = now_on(k.energy, w);
    if (std::isfinite(uj)) append_line(all, "energy", number, w, uj);
  }
}

std::string GraphLog::text() const {
  const std::lock_guard lock(mutex_);
  std::string all;
  const uint32_t nspaces = static_cast<uint32_t>(rt_.topology->spaces().size());
  append_line(&all, "home", rt_.topology->home());
  for (const auto &w : rt_.workers) append_line(&all, "at", w->id, w->unit.desc.space);
  for (uint32_t from = 0; from < nspaces; ++from)
    for (uint32_t to = 0; to < nspaces; ++to)
      if (const Link &l = rt_.topology->link(from, to); from != to && l.device)
        append_line(&all, "link", from, to, l.desc.bytes_per_s, l.desc.latency_ns);
  for (size_t i = 0; i < kinds_.size(); ++i) tell(&all, kinds_[i], i);
  for (const Place &d : data_)
    append_line(&all, "datum", Hex{d.id}, d.bytes, d.space == CONSORT_NONE ? -1 : static_cast<int>(d.space), Hex{d.whole});
  size_t use = 0, name = 0;
  for (const Entry &t : tasks_) {
    all += "task\t";
    append(&all, Hex{t.name}, '\t', t.kind, '\t', t.priority, '\t');
    for (uint32_t i = 0; i < t.nuses; ++i, ++use) {
      if (i) all += ',';
      append(&all, uses_[use].how, Hex{data_[uses_[use].datum].id});
    }
    all += '\t';
    for (uint32_t i = 0; i < t.nafter; ++i, ++name) {
      if (i) all += ',';
      append(&all, Hex{after_[name]});
    }
    append_line(&all, "", t.at);
  }
  append_line(&all, "submitted", began_, lost_);
  return all;
}

}  // namespace consort
