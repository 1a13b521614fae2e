#include "model/models.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "plugin/registry.hpp"
#include "task/core.hpp"
#include "task/eligibility.hpp"
#include "task/footprint.hpp"
#include "task/frame.hpp"
#include "task/worker.hpp"

namespace consort {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();
constexpr uint32_t kMostModels = 1 << 16;

std::vector<Model::Impl> impls_of(const Codelet &c) {
  std::vector<Model::Impl> all;
  for (const Codelet::Impl &i : c.impls) all.push_back({i.klass_name, i.name});
  return all;
}

uint64_t impls_for(const Codelet &c, uint32_t klass) noexcept {
  uint64_t mask = 0;
  for (size_t i = 0; i < c.impls.size(); ++i)
    if (c.impls[i].klass == klass) mask |= uint64_t{1} << i;
  return mask;
}

bool asks_or_loads(const Codelet &c) noexcept {  // whether it can run is checked by the worker itself
  return c.can_execute || std::any_of(c.impls.begin(), c.impls.end(), [](const auto &i) { return i.text(); });
}

}  // namespace

// -- life -------------------------------------------------------------------------------------------------------

void Models::open() {
  for (const Unit &u : rt_.topology->units()) {
    const std::string arch = u.desc.arch ? u.desc.arch : "";
    const auto same = [&](const Kind &k) { return k.class_bit == u.klass && k.arch == arch; };
    auto kind = std::find_if(kinds_.begin(), kinds_.end(), same);
    if (kind == kinds_.end()) {
      const Plugin &plugin = *u.device->plugin;
      const auto *times = plugin.manifest->get
                              ? static_cast<const consort_times *>(plugin.manifest->get(plugin.self, CONSORT_TIMES_ID))
                              : nullptr;
      if (times && !CONSORT_HAS_FN(times, consort_times, kernel_ns)) times = nullptr;
      drivers_know_ |= times != nullptr;
      kinds_.push_back({u.desc.klass, arch, u.klass, u.desc.id, times, u.device->dev, u.index});
      kind = kinds_.end() - 1;
    }
    kind_of_.push_back(static_cast<uint32_t>(kind - kinds_.begin()));
  }
  loads_ = std::make_unique<Load[]>(kind_of_.size());
  for (const Team &t : rt_.topology->teams()) {  // teams of one size are of one kind
    const Kind first = kinds_[kind_of_[t.members.front()]];
    const std::string arch = first.arch + "*" + std::to_string(t.size());
    const auto same = [&](const Kind &k) { return k.class_bit == t.klass && k.arch == arch; };
    auto kind = std::find_if(kinds_.begin(), kinds_.end(), same);
    if (kind == kinds_.end()) {
      const bool told = first.times && CONSORT_HAS_FN(first.times, consort_times, team_ns);
      const consort_times *times = told ? first.times : nullptr;
      kinds_.push_back({first.klass, arch, t.klass, first.unit, times, first.device, first.index, t.size()});
      kind = kinds_.end() - 1;
    }
    kind_of_.push_back(static_cast<uint32_t>(kind - kinds_.begin()));
  }
  enough_ = static_cast<uint32_t>(rt_.config->number("calibrate_samples"));
  const auto calibrate = rt_.config->text("calibrate"), keep = rt_.config->text("keep_models");
  measuring_ = calibrate != "off";
  if (keep == "yes" || (keep == "auto" && !rt_.clock.stepped())) {
    std::string folder(rt_.config->text("model_folder"));
    store_.open(rt_, folder.empty() ? CacheFile::folder(StoredModel::kRoom) : std::move(folder),
                calibrate == "force"  ? ModelStore::Use::kAnew
                : calibrate == "drop" ? ModelStore::Use::kDropped
                                      : ModelStore::Use::kOnDemand,
                measuring_);
  }
  const auto models = rt_.config->text("models");
  by_themselves_ = models != "given";
  if (models == "all") from_the_start_ = true, use();
}

void Models::close() noexcept {
  for (const auto &[name, m] : models_) store_.write(*this, *m);
}

void Models::warn_of(const Model &m, float stored, float measured, uint32_t n) const noexcept {
  try {
    char text[128];
    const bool time = m.what() == CONSORT_MODEL_TIME;
    std::snprintf(text, sizeof text, "said %.4g %s of a size, %u measurements say %.4g", stored * (time ? 1e-3 : 1),
                  time ? "us" : "uJ", n, measured * (time ? 1e-3 : 1));
    rt_.log(1, "the stored model of \"" + m.name() + "\" " + text + ": what is measured is believed from now on (" +
                   store_.path_of(m) + "; the setting calibrate = \"drop\" forgets all that is stored)");
  } catch (const std::bad_alloc &) {  // out of memory: no warning
  }
}

void Models::use() noexcept {
  in_use_.store(true, std::memory_order_relaxed);
  // Stored each time: choose_paths() may have read it just before.
  if (!rt_.observed.load(std::memory_order_relaxed)) rt_.observed.store(true, std::memory_order_relaxed);
}

void Models::asked() noexcept {
  if (!asked_.load(std::memory_order_relaxed)) asked_.store(true, std::memory_order_relaxed);
  use();
}

void Models::policy_changed() noexcept {
  asked_.store(false, std::memory_order_relaxed);
  in_use_.store(from_the_start_ || given_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// -- models -----------------------------------------------------------------------------------------------------

Model *Models::of(const Codelet &c, uint32_t what) const noexcept {
  return c.model[what].load(std::memory_order_acquire);  // pairs with make() and set()
}

Model *Models::find_or_make(const Codelet &c, std::string name, uint32_t what, const consort_model &desc) {
  const std::vector<Model::Impl> impls = impls_of(c);
  const auto known = [&]() -> Model * {  // with the mutex
    const auto [first, last] = models_.equal_range(name);
    for (auto i = first; i != last; ++i)
      if (i->second->is(name, impls, what, desc)) return i->second.get();
    return nullptr;
  };
  {
    std::lock_guard lock(mutex_);
    if (Model *m = known()) return m;
    if (models_.size() == kMostModels) return nullptr;
  }
  auto made = std::make_unique<Model>(*this, name, impls, what, desc);
  store_.read(*this, *made);  // may log, so no lock is held
  std::lock_guard lock(mutex_);
  if (Model *m = known()) return m;
  return models_.emplace(name, std::move(made))->second.get();
}

Model *Models::make(Codelet &c, uint32_t what) noexcept {
  if (Model *m = of(c, what)) return m;
  static constexpr consort_model kHistory = CONSORT_MODEL_INIT;
  try {
    Model *const m = find_or_make(c, c.name, what, kHistory);
    Model *none = nullptr;
    // A model set meanwhile by another thread is kept.
    if (m && c.model[what].compare_exchange_strong(none, m, std::memory_order_acq_rel)) return m;
    return m ? none : nullptr;
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

Result<void> Models::set(Codelet &c, uint32_t what, const consort_model *desc) {
  if (!desc) return c.model[what].store(nullptr, std::memory_order_release), Result<void>();
  Model *const m = find_or_make(c, desc->name ? desc->name : c.name, what, *desc);
  if (!m)
    return error(CONSORT_E_NOMEM, "65536 models are known in this runtime: give codelets that are alike one name");
  c.model[what].store(m, std::memory_order_release);
  given_.store(true, std::memory_order_relaxed);
  use();
  return {};
}

// -- estimates --------------------------------------------------------------------------------------------------

double Models::told(TaskFacts &facts, uint32_t kind, uint32_t impl) const noexcept {
  const Kind &k = kinds_[kind];
  if (!k.times || !facts.task->codelet) return NAN;
  const consort_times_query q{facts.task->codelet->name.c_str(),
                              facts.all_bytes(),
                              footprint_of(*facts.task),
                              facts.work,
                              k.index,
                              impl};
  const double ns = k.team > 1 ? k.times->team_ns(k.device, &q, k.team) : k.times->kernel_ns(k.device, &q);
  return ns >= 0 && std::isfinite(ns) ? ns : NAN;
}

float Models::best(const Model *m, TaskFacts &facts, uint32_t what, uint32_t worker, uint64_t impls) const noexcept {
  const uint32_t kind = kind_of_[worker];
  float found = kNever;
  bool unknown = false;
  for (; impls; impls &= impls - 1) {
    const auto impl = static_cast<uint32_t>(__builtin_ctzll(impls));
    const float x = m                            ? m->expected(facts, kind, worker, impl)
                    : what == CONSORT_MODEL_TIME ? static_cast<float>(told(facts, kind, impl))
                                                 : NAN;
    if (std::isnan(x)) unknown = true;
    else if (x < found) found = x;
  }
  // An unmeasured implementation is tried, if measuring makes it known.
  const bool trial = unknown && measuring_ && (!m || m->has_history());
  return unknown && (trial || found == kNever) ? NAN : found;
}

void Models::estimate(const Task &t, uint32_t what, const uint32_t *workers, uint32_t n, uint32_t impl,
                      float *out) noexcept {
  const Codelet *const c = t.codelet;
  if (!c) return void(std::fill_n(out, n, 0.0f));
  Model *m = of(*c, what);
  // Stored values are read at the first question.
  if (!m && by_themselves_ && asked_.load(std::memory_order_relaxed) &&
      (what == CONSORT_MODEL_TIME || store_.is_open()))
    m = make(*t.codelet, what);
  TaskFacts facts;
  if (m) facts = m->facts(t);
  if (m && drivers_know_ && m->has_history()) m->know(facts);
  else facts.task = &t, facts.work = work_of(t);
  constexpr uint32_t kKept = 16;
  float kept[kKept];                             // by kind of unit
  uint32_t have = 0;
  const bool alike = !asks_or_loads(*c) && !(m && m->by_worker());
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t w = workers[i];
    if (w >= kind_of_.size() || (rt_.lost.any() && w < rt_.topology->units().size() && rt_.lost.has(rt_.topology->units()[w]))) {
      out[i] = kNever;
      continue;
    }
    const uint32_t kind = kind_of_[w];
    const bool keep = alike && kind < kKept;
    if (keep && have >> kind & 1) {
      out[i] = kept[kind];
      continue;
    }
    const uint32_t klass = kinds_[kind].class_bit;
    const Team *team = rt_.topology->team(w);
    uint64_t mask = team && !may_run(t.pub, *team) ? 0 : impls_for(*c, klass);
    if (impl != CONSORT_NONE) mask &= impl < 64 ? uint64_t{1} << impl : 0;
    if (!alike && mask && !team) mask &= without_refused(rt_, *c, w, able(rt_, *c, klass, w, asked_about(t)));
    if (!alike && mask && team) mask &= able_team(rt_, *c, *team, asked_about(t));
    out[i] = best(m, facts, what, w, mask);
    if (keep) kept[kind] = out[i], have |= 1u << kind;
  }
  // As can_execute() of consort.sched says: if no other worker can run it, a worker whose device is lost or has refused the
  // kernel's text accepts the task and passes it on.
  if ((rt_.lost.any() || !alike) && std::all_of(out, out + n, [](float ns) { return ns == kNever; }))
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t w = workers[i];
      if (w >= rt_.topology->units().size()) continue;
      if (rt_.lost.has(rt_.topology->units()[w]) || able(rt_, *c, kinds_[kind_of_[w]].class_bit, w, asked_about(t))) out[i] = NAN;
    }
  // Only a director uses the number of questions.
  if (what != CONSORT_MODEL_TIME || impl != CONSORT_NONE || !directed_.load(std::memory_order_relaxed)) return;
  const auto add = [](std::atomic<uint64_t> &n) {
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  };
  add(questions_);
  if (std::none_of(out, out + n, [](float ns) { return std::isfinite(ns); })) add(unanswered_);
}

uint32_t Models::choose(const Task &t, const Worker &w) noexcept {
  const Codelet &c = *t.codelet;
  Model *const m = of(c, CONSORT_MODEL_TIME);
  if (!m) return CONSORT_NONE;
  uint64_t mask = without_refused(rt_, c, w.id, able(rt_, c, w.klass, w.id, asked_about(t)));
  TaskFacts facts = m->facts(t);
  const uint32_t kind = kind_of_[w.id];
  uint32_t found = CONSORT_NONE, least = ~0u;
  float time = kNever;
  for (; mask; mask &= mask - 1) {
    const auto impl = static_cast<uint32_t>(__builtin_ctzll(mask));
    const Portable *text = c.impls[impl].text();
    if (text && !text->is_loaded(*w.unit.device)) continue;
    const float x = m->expected(facts, kind, w.id, impl);
    if (!std::isnan(x)) {
      if (least == ~0u && x < time) found = impl, time = x;
    } else if (measuring_ && m->has_history()) {
      const Cell *cell = facts.row ? &facts.row->cells[m->place(kind, impl)] : nullptr;
      const uint32_t tried = cell ? cell->count.load(std::memory_order_relaxed) : 0;
      if (tried < least) found = impl, least = tried;
    }
  }
  return found;
}

void Models::load(const uint32_t *workers, uint32_t n, float *out) noexcept {
  uint64_t now = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (const Team *team = rt_.topology->team(workers[i])) {  // when its last member is idle
      out[i] = 0;
      for (size_t k = 0; k < team->members.size() && !std::isnan(out[i]); ++k) {
        float one;
        load(&team->members[k], 1, &one);
        if (!(one <= out[i])) out[i] = one;
      }
      continue;
    }
    if (workers[i] >= kind_of_.size()) {
      out[i] = NAN;
      continue;
    }
    const Load &l = loads_[workers[i]];
    if (l.unknown.load(std::memory_order_relaxed) > 0) {
      out[i] = NAN;
    } else if (const int64_t ns = l.ns.load(std::memory_order_relaxed); ns <= 0) {
      out[i] = 0;
    } else {
      if (!now) now = rt_.clock.now();
      const uint64_t since = l.since.load(std::memory_order_relaxed);
      out[i] = std::max(0.0f, static_cast<float>(ns) - (now > since ? static_cast<float>(now - since) : 0.0f));
    }
  }
}

void Models::count(uint32_t worker, int64_t ns) noexcept {
  Load &l = loads_[worker];
  if (l.n.fetch_add(1, std::memory_order_relaxed) == 0) l.since.store(rt_.clock.now(), std::memory_order_relaxed);
  if (ns < 0) l.unknown.fetch_add(1, std::memory_order_relaxed);
  else l.ns.fetch_add(ns, std::memory_order_relaxed);
}

void Models::discount(Load &l, int64_t ns, uint64_t now) noexcept {
  if (ns < 0) l.unknown.fetch_sub(1, std::memory_order_relaxed);
  else l.ns.fetch_sub(ns, std::memory_order_relaxed);
  l.n.fetch_sub(1, std::memory_order_relaxed);
  l.since.store(now ? now : rt_.clock.now(), std::memory_order_relaxed);
}

// -- runs -------------------------------------------------------------------------------------------------------

void Models::settle_impl(Worker &w, Frame &f, const Task &t) noexcept {
  const Codelet *const c = t.codelet;
  if (!c || !(c->several >> w.klass & 1) || std::exchange(f.picked, true)) return;
  if (const uint32_t impl = choose(t, w); impl != CONSORT_NONE && impl != f.call.impl) {
    f.fn = c->impls[impl].fn;
    f.call.impl = impl;
    f.call.user = c->impls[impl].user;
  }
}

Models::Run Models::begin(Worker &w, Frame &f, Task &t, const Team *team) noexcept {
  Run run;
  Codelet *const c = t.codelet;
  if (!c || (t.bits & kUnite)) return f.picked = false, run;
  const bool asked = asked_.load(std::memory_order_relaxed);
  Model *m = of(*c, CONSORT_MODEL_TIME);
  if (!m && by_themselves_ && (asked || from_the_start_)) m = make(*c, CONSORT_MODEL_TIME);
  if (m) settle_impl(w, f, t);
  f.picked = false;
  if (!m) return run;
  TaskFacts facts = m->facts(t);
  const uint32_t place = team ? team->id : w.id, kind = kind_of_[place];
  run.model = m;
  if (measuring_) run.cell = m->cell(facts, kind, f.call.impl);
  run.ran = w.ran.load(std::memory_order_relaxed);
  if (!asked) return run;
  const float x = m->expected(facts, kind, place, f.call.impl);
  run.counted = true;
  if (!std::isnan(x)) run.expected = static_cast<int64_t>(x);
  if (!team) count(w.id, run.expected);
  else for (const uint32_t member : team->members) count(member, run.expected);
  return run;
}

void Models::end(Worker &w, Run &run, uint64_t t0, uint64_t t1, bool good, const Team *team) noexcept {
  if (run.counted && !team) discount(loads_[w.id], run.expected, t1);
  else if (run.counted) for (const uint32_t member : team->members) discount(loads_[member], run.expected, t1);
  // The time of a body during which other bodies ran on its stack is not its own.
  const bool alone = team || w.has_queue || w.ran.load(std::memory_order_relaxed) == run.ran;
  if (good && run.cell && alone && t1 > t0) run.model->measured(*run.cell, static_cast<float>(t1 - t0));
  run = {};
}

}  // namespace consort
