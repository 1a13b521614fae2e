#include "observe/graph_log.hpp"

#include <consort/shared/fields.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/file_text.hpp"
#include "graph/access_order.hpp"
#include "graph/partition_plan.hpp"
#include "model/models.hpp"
#include "observe/observation.hpp"
#include "observe/trace_collector.hpp"
#include "task/codelet.hpp"
#include "task/footprint.hpp"
#include "task/trace_categories.hpp"

namespace consort {

using shared::append, shared::append_line, shared::Hex;

namespace {

constexpr uint32_t kMostData = 1u << shared::trace_format::kUseShift;

uint32_t use_of(uint32_t mode) noexcept {  // an index of shared::trace_format::kUses
  if (!shares(mode)) return mode & CONSORT_M_R ? 2 : 3;
  return changes(mode) ? 1 : 0;
}

// Returns the space if the datum has contents in one alone. Once contents have moved, the log cannot tell what a run
// had to move.
uint32_t space_of(const Datum &d) noexcept {
  const uint32_t state = d.state.load(std::memory_order_relaxed), space = data_state::space(state);
  return (state & data_state::kValid) && space < Topology::kMaxSpaces ? space : CONSORT_NONE;
}

}  // namespace

GraphLog::GraphLog(Observation &rt, TraceCollector &collector, TraceRing &ring) : rt_(rt), collector_(collector), ring_(ring) {}

uint32_t GraphLog::datum_of(const Datum &d) {
  const auto [at, fresh] = data_index_.try_emplace(d.pub.id, static_cast<uint32_t>(data_index_.size()));
  const uint32_t number = at->second;
  if (!fresh) return number;
  const AccessOrder *discipline = discipline_if_any(d);
  const PartitionPlan *plan = discipline ? discipline->part_of : nullptr;
  const uint32_t space = space_of(d);
  ring_.put(DatumRecord{head_of<DatumRecord>(RecordType::kDatum), number, d.pub.id, d.pub.bytes,
                                plan ? plan->whole->pub.id : 0, space == CONSORT_NONE ? -1 : static_cast<int32_t>(space), 0});
  if (plan) datum_of(*plan->whole);
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
  if (!rt_.traces(traced::kGraph)) return;
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
  const auto [at, fresh] = index_.try_emplace(key, static_cast<uint32_t>(kinds_.size()));
  if (fresh) {
    TaskFacts facts;
    facts.task = &t;
    try {
      Kind kind{c ? c->name : std::string(), key.footprint, facts.all_bytes(), 0, false, {}, {}};
      std::string line;
      tell(&line, kind, kinds_.size());
      kinds_.push_back(std::move(kind));
      collector_.add_lines(line);
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
  if (record(t, at->second, now, claims, n, after, nafter)) {
    if (!began_) began_ = now;
  } else {
    ++lost_;
  }
} catch (const std::bad_alloc &) {
  const std::lock_guard lock(mutex_);
  ++lost_;
}

bool GraphLog::record(const Task &t, uint32_t kind, uint64_t now, const Claim *claims, uint32_t n, const TaskName *after,
                      uint32_t nafter) {
  uses_.clear();
  for (uint32_t i = 0; i < n; ++i) {
    if (claims[i].mode & Claim::kLoose) continue;
    const uint32_t number = datum_of(*claims[i].datum);
    if (number >= kMostData) return false;
    uses_.push_back(use_of(claims[i].mode) << shared::trace_format::kUseShift | number);
  }
  const auto afters = static_cast<uint32_t>(std::count_if(after, after + nafter, [](TaskName name) { return name; }));
  const size_t more = size_t{afters} * sizeof(TaskName) + uses_.size() * sizeof(uint32_t);
  if (more > ring_.most() - sizeof(TaskRecord) - 8) return false;
  const TaskRecord head{head_of<TaskRecord>(RecordType::kTask, more), kind, t.pub.id, now, t.pub.priority,
                                static_cast<uint32_t>(uses_.size()), afters, 0};
  const uint32_t bytes = head.head.words * 8u;
  char *at = ring_.reserve(bytes);
  if (!at) return false;
  std::memset(at + bytes - 8, 0, 8);         // the last word may be half used
  std::memcpy(at, &head, sizeof head);
  at += sizeof head;
  for (uint32_t i = 0; i < nafter; ++i)
    if (after[i]) std::memcpy(at, &after[i], sizeof after[i]), at += sizeof after[i];
  if (!uses_.empty()) std::memcpy(at, uses_.data(), uses_.size() * sizeof uses_[0]);
  ring_.commit(bytes);
  return true;
}

void GraphLog::clear() noexcept {
  const std::lock_guard lock(mutex_);
  index_.clear();
  kinds_.clear();
  data_index_.clear();
  began_ = 0;
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
}

void GraphLog::tell_times(std::string *all, const Kind &k, size_t number) const {
  for (uint32_t w = 0; w < k.time.on.size(); ++w) {
    const float ns = now_on(k.time, w);
    if (!std::isinf(ns)) append_line(all, "time", number, w, std::isnan(ns) ? -1.f : ns);
  }
  for (uint32_t w = 0; w < k.energy.on.size(); ++w) {
    const float uj = now_on(k.energy, w);
    if (std::isfinite(uj)) append_line(all, "energy", number, w, uj);
  }
}

std::string GraphLog::machine() const {
  std::string all;
  const uint32_t nspaces = static_cast<uint32_t>(rt_.topology->spaces().size());
  append_line(&all, "home", rt_.topology->home());
  for (const auto &w : rt_.workers) append_line(&all, "at", w->id, w->unit.desc.space);
  for (uint32_t from = 0; from < nspaces; ++from)
    for (uint32_t to = 0; to < nspaces; ++to)
      if (const Link &l = rt_.topology->link(from, to); from != to && l.device)
        append_line(&all, "link", from, to, l.desc.bytes_per_s, l.desc.latency_ns);
  return all;
}

std::string GraphLog::kinds() const {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (size_t i = 0; i < kinds_.size(); ++i) tell(&all, kinds_[i], i);
  return all;
}

std::string GraphLog::ending(uint64_t more_lost) const {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (size_t i = 0; i < kinds_.size(); ++i) tell_times(&all, kinds_[i], i);
  append_line(&all, "submitted", began_, lost_ + more_lost);
  return all;
}

}  // namespace consort
