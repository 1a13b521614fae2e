// auto.cpp — the default policy: selects the current one by observation, as a director (consort_scheduler_ops.direct).
//
// The selected policy takes the tasks; no task passes through here. For hosts without directors, or if the selected policy
// cannot be loaded, it is a policy itself: first come, first served. direct() and directed() are [control], one call at a
// time; only they use the observation fields.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "../central.hpp"
#include "../fifo.hpp"
#include "../table.hpp"

namespace automatic {
namespace {

struct Settings {
  std::string alike, unlike, spaces;
  double small_ns = 20e3;
};

using Central = policies::Central<policies::FifoQueue>;

class Instance : public Central {
 public:
  Instance(const Settings &s, const consort_host *h, const consort_topology &t, uint64_t epoch)
      : Central(h, t, epoch),
        settings_(s),
        services_(h->get ? static_cast<const consort_sched_host *>(h->get(h, CONSORT_SCHED_ID)) : nullptr) {}

  const char *direct(const consort_overview &o) noexcept;
  void directed(consort_direction &out) const noexcept {
    out.reason = reason_;
    if (settled_) out.again_ns = CONSORT_NEVER;
  }

 private:
  static constexpr uint64_t kEnough = 500;      // ended tasks needed for a rate, or queried tasks for a ratio
  static constexpr uint32_t kTwice = 2;         // consecutive calls that must agree

  const std::string &by_units(const consort_topology &, uint64_t where) noexcept;
  void look_at_sizes(const consort_overview &, uint32_t nworkers) noexcept;
  void look_at_models(const consort_overview &) noexcept;

  const Settings &settings_;
  const consort_sched_host *const services_;    // nullptr: the host has none
  uint64_t seen_ns_ = 0, seen_finished_ = 0, seen_asked_ = 0, seen_unknown_ = 0;
  uint32_t agree_ = 0;                          // consecutive calls that contradict small_
  uint32_t blind_for_ = 0, last_blind_ = 10;    // calls until models are tried again; the last such number
  bool few_wait_ = false;                       // most tasks that are pending will have ended by the next call or two
  bool small_ = false;
  double each_ns_ = 0;                          // a worker's time per task at the last change of small_
  bool settled_ = true;                         // all units are alike: nothing that can be seen later changes the choice
  char reason_[160] = "";

  [[gnu::format(printf, 2, 3)]] void because(const char *format, ...) noexcept {
    va_list args;
    va_start(args, format);
    std::vsnprintf(reason_, sizeof reason_, format, args);
    va_end(args);
  }
};

// where: classes that codelets of the program can use. Units of other classes get no task. 0: no codelet is known yet.
const std::string &Instance::by_units(const consort_topology &t, uint64_t where) noexcept {
  const consort_worker *first = nullptr;
  bool classes = false, spaces = false;
  uint32_t used = 0;
  for (uint32_t w = 0; w < t.nworkers; ++w) {
    const consort_worker &unit = t.workers[w];
    if (where && !(where >> unit.klass & 1)) continue;
    if (!first) first = &unit;
    ++used;
    classes |= unit.klass != first->klass;
    spaces |= unit.space != first->space;
  }
  settled_ = used == t.nworkers && !classes && !spaces;
  if (spaces) return because("%u units with memories of their own", used), settings_.spaces;
  if (classes) return because("%u unlike units that share a memory", used), settings_.unlike;
  if (used < t.nworkers) because("the codelets use %u of %u units, and these are alike", used, t.nworkers);
  else because("%u like unit%s", used, used == 1 ? "" : "s");
  return settings_.alike;
}

// Updates small_ and few_wait_. The next policy does not know tasks that are submitted and not ready, so while most tasks of a
// graph are still to come, its first ones are no reason for a change.
//
// The rate gives an upper bound of a worker's time per task. With idle workers the true time may be shorter, so tasks
// count as large again only if all workers had work.
void Instance::look_at_sizes(const consort_overview &o, uint32_t nworkers) noexcept {
  const uint64_t now = host->now(host), ended = o.finished - seen_finished_;
  if (now <= seen_ns_) return;
  const double each = static_cast<double>(now - seen_ns_) * nworkers / static_cast<double>(ended + 1);
  const bool busy = o.submitted - o.finished > uint64_t{4} * nworkers;
  few_wait_ = o.submitted - o.finished < 2 * ended;
  const bool tells_small = few_wait_ && ended >= kEnough && each < settings_.small_ns;
  const bool tells_large = busy && each > 4 * settings_.small_ns;
  agree_ = (small_ ? tells_large : tells_small) ? agree_ + 1 : 0;
  if (agree_ == kTwice) small_ = !small_, agree_ = 0, each_ns_ = each;
  seen_ns_ = now, seen_finished_ = o.finished;
}

// Without model predictions, a policy with models spreads tasks blindly: uses `alike` for a while, each time twice
// as long.
void Instance::look_at_models(const consort_overview &o) noexcept {
  if (blind_for_) {
    if (--blind_for_ == 0) seen_asked_ = o.asked, seen_unknown_ = o.unknown;
    return;
  }
  const uint64_t asked = o.asked - seen_asked_, unknown = o.unknown - seen_unknown_;
  if (asked < kEnough) return;
  if (few_wait_ && unknown * 10 > asked * 9) blind_for_ = last_blind_ = std::min(last_blind_ * 2, 1u << 20);
  seen_asked_ = o.asked, seen_unknown_ = o.unknown;
}

const char *Instance::direct(const consort_overview &o) noexcept {
  const consort_topology *t = services_ ? services_->topology(host) : nullptr;
  if (!t) return because("the host tells nothing of its units"), settings_.alike.c_str();
  const std::string &choice = by_units(*t, CONSORT_HAS(&o, consort_overview, where) ? o.where : 0);
  if (&choice == &settings_.alike) return choice.c_str();
  look_at_sizes(o, t->nworkers);
  look_at_models(o);
  if (small_)
    because("tasks of about %.0f us, below auto.small_us = %.0f", each_ns_ * 1e-3, settings_.small_ns * 1e-3);
  else if (blind_for_) because("no model predicts nine tasks in ten; models are tried again later");
  return (small_ || blind_for_ ? settings_.alike : choice).c_str();
}

Instance &of(void *s) noexcept { return static_cast<Instance &>(Central::of(s)); }

consort_status init(const consort_host *host, void **out) noexcept {
  return policies::init_settings<Settings>(host, out, [&](Settings &s) -> consort_status {
    const auto name = [&](const char *key, const char *fallback) {
      const char *text = host->param ? host->param(host, key) : nullptr;
      return std::string(text && *text ? text : fallback);
    };
    s.alike = name("alike", "lws");
    s.unlike = name("unlike", "graph-lookahead");
    s.spaces = name("spaces", "graph-lookahead");
    s.small_ns = policies::real_param(host, "small_us", 20) * 1e3;
    return CONSORT_OK;
  });
}

constexpr consort_param params[] = {
    {"alike", "string", "lws", nullptr, "policy for like units, for small tasks, and without model predictions"},
    {"unlike", "string", "graph-lookahead", nullptr, "policy for unlike units that share a memory"},
    {"spaces", "string", "graph-lookahead", nullptr, "policy for units with their own memories"},
    {"small_us", "f64", "20", "0..1e6", "microseconds per task below which tasks are small"},
};

constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = policies::table_of_statics<Central>(CONSORT_SF_NO_BYPASS);
  o.create = [](void *plugin, const consort_host *host, const consort_topology *t, uint64_t epoch,
                void **out) noexcept -> consort_status {
    return policies::guarded(host, [&] {
      *out = static_cast<Central *>(new Instance(*static_cast<const Settings *>(plugin), host, *t, epoch));
      return CONSORT_OK;
    });
  };
  o.destroy = [](void *s) noexcept { delete &of(s); };
  o.direct = [](void *s, const consort_overview *view) noexcept { return of(s).direct(*view); };
  o.directed = [](void *s, consort_direction *out) noexcept { of(s).directed(*out); };
  return o;
}();

constexpr consort_plugin plugin =
    policies::record("auto", "selects another policy by units, models and sizes of tasks, and switches to it",
                     ops, init, policies::fini_settings<Settings>, params);

}  // namespace
}  // namespace automatic

CONSORT_MODULE(automatic, SCHEDULER, POLICY_FLAGS, "auto", "0.1.0", automatic::plugin);
