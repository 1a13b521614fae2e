// make.cpp — the case of a seed.
#include <set>

#include "storm/case.hpp"
#include "stress/mixed_make.hpp"

namespace storm {
namespace {

using mixed::Kind;
using mixed::Step;

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15 + 1) {}
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool percent(int p) { return pick(100) < p; }
  template <class T>
  const T &of(const std::vector<T> &all) { return all[static_cast<size_t>(pick(static_cast<int>(all.size())))]; }

 private:
  std::mt19937_64 random_;
};

void make_faults(Machine &m, Chance &c, const std::vector<std::string> &kinds) {
  const std::string &kind = c.of(kinds);
  const auto on = [&] { return c.percent(70) ? std::string() : "/" + std::to_string(c.pick(m.devices)); };
  const auto nth = [&](int most) { return kind + "@" + std::to_string(1 + c.pick(most)) + on(); };
  const bool devices = m.simulated && m.devices;
  if (kind == "disk") {
    static const std::vector<std::string> disk{"read", "write", "full", "short", "ends", "spoilt"};
    m.simulated = m.peer = false;  // only the host's memory spills
    m.devices = m.bandwidth = m.noise = 0;
    m.units = 1;
    m.disk = c.of(disk) + "@" + std::to_string(1 + c.pick(5));
  } else if (kind == "allocation" || (!devices && kind != "plugin")) {
    m.allocation = c.pick(c.percent(50) ? 60 : 600);
    if (std::find(kinds.begin(), kinds.end(), "allocation") == kinds.end()) m.allocation = -1;
  } else if (kind == "plugin") {
    static const std::vector<std::string> host{"view", "shape", "create", "workers", "alias"};
    static const std::vector<std::string> device{"alloc", "submit", "view", "alloc", "submit", "alias", "create"};
    m.plugin = c.of(m.simulated ? device : host);
    m.plugin_nth = m.plugin == "create"    ? 2
                   : m.plugin == "workers" ? 1 + c.pick(4)
                   : m.plugin == "alias"   ? 1 + c.pick(8)
                   : m.plugin == "alloc"   ? 1 + c.pick(12)
                   : m.plugin == "submit"  ? 1 + c.pick(30)
                                           : 8 + c.pick(60);
    m.plugin_status = c.percent(50) ? "E_IO" : "E_NOMEM";
  } else if (kind == "slow") {
    m.device = "slow@" + std::to_string(2 + c.pick(30)) + on();
  } else {
    m.device = nth(kind == "oom" ? 8 : kind == "kernel" ? 10 : kind == "copy" ? 20 : 40);
  }
}

Machine make_machine(Chance &c, const Wishes &w) {
  const auto &policies = w.policies.empty() ? plugins().policies : w.policies;
  Machine m;
  m.threads = w.threads;
  m.simulated = !w.threads && c.percent(65);
  m.policy = c.of(policies);
  m.swaps = {c.of(policies), c.of(policies)};
  m.cores = 1 + c.pick(m.simulated ? 3 : 4);
  if (m.simulated) {
    m.devices = c.percent(90) ? 1 + c.pick(2) : 0;
    m.units = c.percent(20) ? 2 : 1;
    m.bandwidth = c.percent(30) ? 1 + c.pick(20) : 0;
    m.peer = c.percent(25);
    m.noise = c.percent(70) ? 5 + c.pick(60) : 0;
  }
  m.window = c.percent(60) ? 2048 : c.percent(50) ? 0 : 2 + c.pick(20);
  m.bypass = c.percent(75) ? 32 : 0;
  m.teams = m.cores > 1 && c.percent(60);
  if (m.cores > 1 && c.percent(35)) {
    m.contexts = m.cores > 2 && c.percent(40) ? 2 : 1;
    m.context_cores = 1;
    do m.context_policy = c.of(policies);
    while (m.context_policy == "auto" && policies.size() > 1);
    if (m.context_policy == "auto") m.contexts = 0, m.context_policy.clear();
  }
  m.seed = 1 + c.pick(1'000'000);
  if (!w.faults.empty() && c.percent(45)) make_faults(m, c, w.faults);
  return m;
}

// Steps of the storm's programs beside those of mixed_make.hpp.
void add_hint(mixed::Maker &m) {
  constexpr Kind kinds[] = {Kind::kPrefetch, Kind::kEvict, Kind::kWontUse, Kind::kWriteThrough};
  Step &s = m.add(kinds[m.pick(4)]);
  s.uses.push_back({m.slot(), CONSORT_M_R});
  s.number = m.pick(8);
}
// Many tasks that need several locks at once: a task that is refused often becomes the elder.
void add_crowd(mixed::Maker &m) {
  std::vector<int> data = m.some_slots(3);
  while (data.size() < 2) data = m.some_slots(3);
  for (int n = 12 + m.pick(20); n-- > 0;) {
    Step &s = m.add(Kind::kTask);
    const int without = data.size() > 2 ? m.pick(4) : 3;
    for (int i = 0; i < static_cast<int>(data.size()); ++i)
      if (i != without) s.uses.push_back({data[static_cast<size_t>(i)], CONSORT_M_RW | CONSORT_M_COMMUTE});
  }
}
void adorn(Step &s, const Machine &m, Chance &c) {
  s.waits = s.waits && !m.simulated;  // a function on a device must not wait: E_BUSY
  if (s.kind != Kind::kTask) return;
  if (m.contexts && s.parent < 0 && s.recorded < 0 && c.percent(40)) s.context = c.pick(2);
  if (m.devices && c.percent(8)) s.worker = mixed::kOnDevice + static_cast<uint32_t>(c.pick(4));
  if (m.teams && !s.turns && c.percent(12)) {
    s.team = true;
    s.plain = false;
    if (c.percent(70)) s.worker = mixed::kOnTeam + static_cast<uint32_t>(c.pick(3));
  }
  s.pause = m.threads ? s.pause / 8 : 0;
}

// The least memory of a device in which each task is admitted. It includes all tasks whose completion waits for the
// body of another task: such a task keeps its memory. Blocks are of 256 bytes and more.
uint64_t least_memory(const Case &c) {
  constexpr uint64_t kBlock = 256;
  const auto bytes = [&](const mixed::Program &p, int slot) {
    if (slot < 0 || slot >= mixed::kParts) return 2 * kBlock;  // a part is no larger than the largest datum, see below
    const mixed::Slot &x = p.slots[static_cast<size_t>(slot)];
    return (static_cast<uint64_t>(x.ld * x.ny) * 8 + kBlock - 1) / kBlock * kBlock;
  };
  uint64_t most = 0, largest = kBlock, held = 0;
  for (const mixed::Program &p : c.programs) {
    for (size_t d = 0; d < p.slots.size(); ++d) largest = std::max(largest, bytes(p, static_cast<int>(d)));
    std::set<int> waiting;
    for (const Step &s : p.steps)
      if (s.releases >= 0) waiting.insert(s.releases);
    for (size_t i = 0; i < p.steps.size(); ++i) {
      uint64_t sum = 0;
      for (const mixed::Use &u : p.steps[i].uses) sum += u.slot >= mixed::kParts ? largest : bytes(p, u.slot);
      most = std::max(most, sum);
      if (waiting.count(static_cast<int>(i))) held += sum;
    }
  }
  return std::max(most, 2 * largest) + held + kBlock;
}

}  // namespace

Case make_case(uint64_t seed, const Wishes &wishes) {
  Chance c(seed);
  Case out;
  out.seed = seed;
  out.machine = make_machine(c, wishes);
  out.turns = 1 + c.pick(1'000'000);
  const int submitters = c.percent(70) ? 1 : 2 + c.pick(2);
  for (int i = 0; i < submitters; ++i) {
    mixed::Shape shape;
    shape.steps = (c.percent(90) ? 4 + c.pick(20) : 60) / (submitters > 1 ? 2 : 1);
    shape.data = 2 + c.pick(4);
    shape.workers = static_cast<uint32_t>(out.machine.cores);
    shape.alone = submitters == 1;
    shape.fails = c.percent(45);
    mixed::Maker maker(seed * 8 + static_cast<uint64_t>(i) + 1, shape);
    const bool spills = !out.machine.disk.empty();
    maker.before_feature = [&](mixed::Maker &m) {
      for (int d = 0; spills && !m.here() && d < shape.data; ++d) m.p.slots[static_cast<size_t>(d)].homeless = c.percent(80);
      for (int d = 0, first = m.here(); spills && !first && d < shape.data; ++d) m.add(Kind::kTask).uses.push_back({d, CONSORT_M_W});
      if (c.percent(8)) add_hint(m);
      if (c.pick(200) == 0) add_crowd(m);
      if (out.machine.contexts && c.percent(5)) m.add(Kind::kMoveWorker).number = m.pick(4);
    };
    mixed::Program p = maker.make();
    const int scale = spills || c.percent(30) ? 2 + c.pick(12) : 1;  // larger data fill small memories
    for (mixed::Slot &x : p.slots)
      if (x.layout == mixed::Slot::kVector) x.ld = x.nx *= scale;
    for (Step &s : p.steps) {
      adorn(s, out.machine, c);
      // In virtual time no unit runs functions of the host in place, which a copy needs: refused, and said so.
      if (s.kind == Kind::kCopy && out.machine.simulated) s.kind = Kind::kEach, s.uses.clear();
      // An end that another task's body holds open stays open when a fault keeps that body from running.
      if (out.machine.may_fail()) s.releases = -1;
    }
    out.programs.push_back(std::move(p));
  }
  if (!out.machine.disk.empty()) out.machine.host_memory = least_memory(out) + 64u * static_cast<unsigned>(c.pick(8));
  if (out.machine.devices && c.percent(60)) out.machine.memory = least_memory(out) + 256u * static_cast<unsigned>(c.pick(5));
  return out;
}

}  // namespace storm
