// auto.cpp — names the scheduler that is to be current, by what it sees: a director (consort_scheduler_ops.direct).
//
// What it names takes the tasks; nothing of a task passes through here. It is a policy itself for a host that knows no
// directors, and where what it names does not come: first come, first served. direct() is [control], one at a time;
// its notes are touched by nobody else.
#include <cstring>
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

 private:
  static constexpr uint64_t kEnough = 500;      // tasks that must have ended for a rate, or been asked for
  static constexpr uint32_t kTwice = 2;         // questions in a row that must tell the same

  const std::string &by_units(const consort_topology &) const noexcept;
  void look_at_sizes(const consort_overview &, uint32_t nworkers) noexcept;
  void look_at_models(const consort_overview &) noexcept;

  const Settings &settings_;
  const consort_sched_host *const services_;    // nullptr: this host has none
  uint64_t seen_ns_ = 0, seen_finished_ = 0, seen_asked_ = 0, seen_unknown_ = 0;
  uint32_t agree_ = 0;                          // in a row, that sizes are others than was thought
  uint32_t blind_for_ = 0, last_blind_ = 100;   // questions until models are tried again; how many the last time
  bool small_ = false;
};

const std::string &Instance::by_units(const consort_topology &t) const noexcept {
  const std::string *choice = &settings_.alike;
  for (uint32_t w = 1; w < t.nworkers; ++w) {
    if (t.workers[w].space != t.workers[0].space) return settings_.spaces;
    if (t.workers[w].klass != t.workers[0].klass) choice = &settings_.unlike;
  }
  return *choice;
}

// A worker's time for a task is no longer than this. How much shorter is not known while some are idle, so tasks count
// as large again only where there was work for all.
void Instance::look_at_sizes(const consort_overview &o, uint32_t nworkers) noexcept {
  const uint64_t now = host->now(host), ended = o.finished - seen_finished_;
  if (now <= seen_ns_) return;
  const double each = static_cast<double>(now - seen_ns_) * nworkers / static_cast<double>(ended + 1);
  const bool busy = o.submitted - o.finished > uint64_t{4} * nworkers;
  const bool tells_small = ended >= kEnough && each < settings_.small_ns;
  const bool tells_large = busy && each > 4 * settings_.small_ns;
  agree_ = (small_ ? tells_large : tells_small) ? agree_ + 1 : 0;
  if (agree_ == kTwice) small_ = !small_, agree_ = 0;
  seen_ns_ = now, seen_finished_ = o.finished;
}

// Where no model tells anything, a policy by models spreads tasks blindly: done without it for a while, each time twice
// as long as before.
void Instance::look_at_models(const consort_overview &o) noexcept {
  if (blind_for_) {
    if (--blind_for_ == 0) seen_asked_ = o.asked, seen_unknown_ = o.unknown;
    return;
  }
  const uint64_t asked = o.asked - seen_asked_, unknown = o.unknown - seen_unknown_;
  if (asked < kEnough) return;
  if (unknown * 10 > asked * 9) blind_for_ = last_blind_ = std::min(last_blind_ * 2, 1u << 20);
  seen_asked_ = o.asked, seen_unknown_ = o.unknown;
}

const char *Instance::direct(const consort_overview &o) noexcept {
  const consort_topology *t = services_ ? services_->topology(host) : nullptr;
  if (!t) return settings_.alike.c_str();
  const std::string &choice = by_units(*t);
  if (&choice == &settings_.alike) return choice.c_str();
  look_at_sizes(o, t->nworkers);
  look_at_models(o);
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
    s.spaces = name("spaces", "darts");
    s.small_ns = policies::real_param(host, "small_us", 20) * 1e3;
    return CONSORT_OK;
  });
}

constexpr consort_param params[] = {
    {"alike", "string", "lws", nullptr, "for units that are alike, for small tasks, and where no model knows anything"},
    {"unlike", "string", "graph-lookahead", nullptr, "for unlike units that share a memory"},
    {"spaces", "string", "darts", nullptr, "for units that have memories of their own"},
    {"small_us", "f64", "20", "0..1e6", "microseconds of a worker below which tasks are small"},
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
  return o;
}();

#define AUTO_FLAGS (CONSORT_PF_VIRTUAL | CONSORT_PF_SWAPPABLE)
constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
    .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
    .flags = AUTO_FLAGS, .name = "auto", .version = "0.1.0",
    .summary = "picks another one by units, models and sizes of tasks, and goes over to it", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = init, .quiesce = policies::quiet_already, .fini = policies::fini_settings<Settings>, .get = nullptr,
};

}  // namespace
}  // namespace automatic

CONSORT_MODULE(automatic, SCHEDULER, AUTO_FLAGS, "auto", "0.1.0", automatic::plugin);
