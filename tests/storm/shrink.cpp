#include "storm/shrink.hpp"

#include <chrono>

namespace storm {
namespace {

using mixed::Slot;
using mixed::Step;

class Shrinker {
 public:
  Shrinker(const Case &c, const Failure &f, double seconds)
      : end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000))),
        kind_(kind_of(f.complaint)) {
    out_.result = c;
    out_.failure = f;
    limit_ = f.complaint.rfind("hang: no end", 0) == 0 ? 3 : 10;
  }

  Smaller all() {
    if (!fails(out_.result)) return out_;
    out_.repeats = true;
    for (std::string before; before != text_of(out_.result) && in_time();) {
      before = text_of(out_.result);
      fewer_programs();
      fewer_steps();
      (void)take(compact(out_.result));
      plainer_machine();
      plainer_steps();
      plainer_data();
      (void)take(compact(out_.result));
    }
    return out_;
  }

 private:
  bool in_time() const { return std::chrono::steady_clock::now() < end_; }
  bool fails(const Case &c) {
    ++out_.tries;
    const Failure f = try_in_child(c, limit_);
    if (f.complaint.empty() || kind_of(f.complaint) != kind_) return false;
    out_.failure = f;
    return true;
  }
  // A smaller case meets other chances: it is tried with a few seeds of the pump, and with the fault a little earlier.
  bool take(const Case &c) {
    if (!in_time() || text_of(c) == text_of(out_.result)) return false;
    std::vector<Case> variants{c};
    for (int i = 1; i <= 4; ++i) {
      Case v = c;
      v.machine.seed = c.machine.seed + i;
      v.turns = c.turns + i;
      earlier_fault(v.machine, i);
      variants.push_back(std::move(v));
    }
    for (const Case &v : variants)
      if (in_time() && fails(v)) return out_.result = v, true;
    return false;
  }
  static void earlier_fault(Machine &m, int by) {
    const auto earlier = [&](int n) { return std::max(by < 3 ? n - by : n * (5 - by) / 4, 0); };
    if (m.allocation >= 0) m.allocation = earlier(static_cast<int>(m.allocation));
    m.plugin_nth = std::max(1, earlier(m.plugin_nth));
    if (const size_t disk = m.disk.find('@'); disk != std::string::npos)
      m.disk = m.disk.substr(0, disk + 1) + std::to_string(std::max(1, earlier(std::atoi(m.disk.c_str() + disk + 1))));
    const size_t at = m.device.find('@');
    if (at == std::string::npos) return;
    const size_t to = m.device.find('/');
    const int n = std::max(1, earlier(std::atoi(m.device.c_str() + at + 1)));
    m.device = m.device.substr(0, at + 1) + std::to_string(n) + (to == std::string::npos ? "" : m.device.substr(to));
  }
  template <class F>
  bool with(F change) {
    Case c = out_.result;
    change(c);
    return take(c);
  }

  void fewer_programs() {
    for (size_t p = 0; p < out_.result.programs.size() && out_.result.programs.size() > 1;)
      if (!with([&](Case &c) {
            c.programs.erase(c.programs.begin() + static_cast<ptrdiff_t>(p));
            if (c.programs.size() == 1) c.programs[0].alone = true;
          }))
        ++p;
  }
  void fewer_steps() {
    for (size_t p = 0; p < out_.result.programs.size(); ++p) {
      const auto size = [&] { return out_.result.programs[p].steps.size(); };
      for (size_t chunk = std::max<size_t>(1, size() / 2); chunk; chunk /= 2)
        for (size_t at = 0; at < size() && in_time(); at += chunk)
          (void)with([&](Case &c) {
            auto &dropped = c.programs[p].dropped;
            for (size_t i = at; i < std::min(at + chunk, dropped.size()); ++i) dropped[i] = 1;
          });
      (void)take(compact(out_.result));
    }
  }
  void plainer_machine() {
    const auto machine = [&](auto change) { (void)with([&](Case &c) { change(c.machine); }); };
    machine([](Machine &m) { m.allocation = -1, m.plugin.clear(), m.device.clear(), m.disk.clear(); });
    machine([](Machine &m) { m.contexts = 0, m.context_cores = 0, m.context_policy.clear(); });
    machine([](Machine &m) { m.teams = false; });
    for (const char *policy : {"eager", "lws"})
      machine([&](Machine &m) {
        if (m.policy != "eager") m.policy = policy;
      });
    machine([](Machine &m) { m.swaps = {"eager"}; });
    machine([](Machine &m) { m.simulated = false, m.devices = 0, m.memory = 0, m.noise = 0, m.bandwidth = 0, m.peer = false; });
    machine([](Machine &m) { m.devices = std::min(m.devices, 1); });
    machine([](Machine &m) { m.cores = 1; });
    machine([](Machine &m) { m.cores = std::max(1, m.cores - 1); });
    machine([](Machine &m) { m.memory = 0; });
    machine([](Machine &m) { m.noise = 0; });
    machine([](Machine &m) { m.bandwidth = 0; });
    machine([](Machine &m) { m.peer = false; });
    machine([](Machine &m) { m.units = 1; });
    machine([](Machine &m) { m.window = 2048; });
    machine([](Machine &m) { m.bypass = 32; });
    machine([](Machine &m) { m.seed = 1; });
    (void)with([](Case &c) { c.turns = 1; });
  }
  void plainer_steps() {
    static const std::vector<void (*)(Step &)> changes{
        [](Step &s) {
          s.priority = 0, s.group = 0, s.pause = 0, s.no_help = s.bundled = s.plain = false, s.context = -1, s.k = 1;
          s.worker = CONSORT_NONE;
        },
        [](Step &s) { s.hooks = false; },
        [](Step &s) { s.tag = s.needs_tag = -1, s.by_tags = false; },
        [](Step &s) { s.worker = CONSORT_NONE; },
        [](Step &s) { s.priority = 0; },
        [](Step &s) { s.group = 0; },
        [](Step &s) { s.pause = 0; },
        [](Step &s) { s.no_help = false; },
        [](Step &s) { s.bundled = false; },
        [](Step &s) { s.plain = false; },
        [](Step &s) { s.context = -1; },
        [](Step &s) { s.team = false; },
        [](Step &s) { s.k = 1; },
        [](Step &s) { s.waits = false; },
        [](Step &s) { s.fails = false; },
        [](Step &s) { s.empty = false; },
        [](Step &s) { s.unordered = false; },
        [](Step &s) { s.by_tags = false; },
        [](Step &s) { s.after.clear(); },
        [](Step &s) { s.end_after.clear(); },
        [](Step &s) { s.turns = std::min(s.turns, 1); },
    };
    for (size_t p = 0; p < out_.result.programs.size(); ++p)
      for (size_t i = 0; i < out_.result.programs[p].steps.size() && in_time(); ++i) {
        for (auto change : changes) (void)with([&](Case &c) { change(c.programs[p].steps[i]); });
        fewer_uses(p, i);
      }
  }
  void fewer_uses(size_t p, size_t i) {
    const auto step = [&](Case &c) -> Step & { return c.programs[p].steps[i]; };
    if (step(out_.result).kind != mixed::Kind::kTask) return;
    for (size_t u = 0; u < step(out_.result).uses.size();)
      if (!with([&](Case &c) { step(c).uses.erase(step(c).uses.begin() + static_cast<ptrdiff_t>(u)); })) {
        (void)with([&](Case &c) { step(c).uses[u].mode = CONSORT_M_RW; });
        ++u;
      }
    for (size_t a = 0; a < step(out_.result).after.size();)
      if (!with([&](Case &c) { step(c).after.erase(step(c).after.begin() + static_cast<ptrdiff_t>(a)); })) ++a;
  }
  void plainer_data() {
    for (size_t p = 0; p < out_.result.programs.size(); ++p) {
      const size_t half = out_.result.programs[p].slots.size() / 2;
      for (size_t d = 0; d < half && in_time(); ++d) {
        const auto both = [&](auto change) {  // a datum and its shadow
          return with([&](Case &c) { change(c.programs[p].slots[d]), change(c.programs[p].slots[d + half]); });
        };
        (void)both([](Slot &x) { x.homeless = false; });
        if (!both([](Slot &x) { x.layout = Slot::kVariable, x.nx = x.ny = x.ld = 1; }))
          (void)both([](Slot &x) { x.nx = 1, x.ld = std::max(1, x.ld - x.nx + 1); });
      }
    }
  }

  const std::chrono::steady_clock::time_point end_;
  const std::string kind_;
  int limit_;
  Smaller out_;
};

}  // namespace

Smaller shrink(const Case &c, const Failure &f, double seconds) { return Shrinker(c, f, seconds).all(); }

}  // namespace storm
