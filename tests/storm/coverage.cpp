#include "storm/coverage.hpp"

#include <map>
#include <utility>
#include <sstream>

#include "stress/mixed_run.hpp"

namespace storm {
namespace {

using mixed::Fate;
using mixed::Kind;
using mixed::Step;

constexpr const char *kNames[kFeatures] = {
    "nested",   "nested wait", "tags",      "commute", "reduction", "partition", "context",
    "team",     "replay",      "failure",   "poison",  "cancel",    "submitters", "device",
    "eviction", "hint",        "swap",      "unordered", "end held", "hooks",    "repeat",
    "acquire",  "acquire later", "renew",   "copy",    "bundle",    "empty",     "small window",
    "FAULT allocation", "FAULT plugin", "FAULT memory", "FAULT copy", "FAULT kernel", "FAULT lost", "FAULT slow", "FAULT disk"};

bool on_device(const mixed::Site &site, const Fate &f) {
  const uint32_t w = f.worker.load();
  return std::find(site.devices.begin(), site.devices.end(), w) != site.devices.end();
}

}  // namespace

const char *name_of(Feature f) { return kNames[f]; }

void Seen::program(const Case &c, const mixed::Site &site, const mixed::Run &run) {
  const mixed::Program &p = run.program();
  std::map<int, int> taking_turns, contributing;  // by slot
  for (size_t s = 0; s < p.steps.size(); ++s) {
    const Step &t = p.steps[s];
    const Fate &f = run.fates()[s];
    const int ran = f.ran;
    if (f.skip || p.dropped[s]) continue;
    switch (t.kind) {
      case Kind::kTask:
        add(kFailure, t.fails && ran && f.ends == CONSORT_E_IO);
        add(kPoison, f.ends == CONSORT_E_POISONED);
        add(kCancel, f.ends == CONSORT_E_CANCELLED);
        add(kEmpty, t.empty);
        add(kHooks, f.ready > 0);
        add(kEndHeld, f.end_held || f.holds_itself || !f.end_after.empty());
        add(kTags, !f.tag_after.empty());
        if (!ran) break;
        add(kNested, t.parent >= 0);
        add(kContext, t.context >= 0 && site.ncontexts && t.parent < 0);
        add(kTeam, f.team > 1);
        add(kDevice, on_device(site, f));
        add(kUnordered, f.unordered);
        add(kRepeat, ran > 1 && t.turns > 1);
        add(kBundle, t.bundled);
        for (const mixed::Use &u : f.uses) {
          add(kPartition, u.slot >= mixed::kParts);
          if (u.mode & CONSORT_M_COMMUTE) ++taking_turns[u.slot];
          if (u.mode & CONSORT_M_REDUX) ++contributing[u.slot];
        }
        break;
      case Kind::kEnter:
      case Kind::kOpen:
        add(kAcquire, f.ends == CONSORT_OK);
        break;
      case Kind::kEnterLater:
        add(kAcquireLater, f.ends == CONSORT_OK && f.done == 1);
        break;
      case Kind::kRenew:
      case Kind::kRenewLater:
      case Kind::kInvalidate:
        add(kRenew);
        break;
      case Kind::kRecord:
        add(kReplay, t.other > 0);
        break;
      case Kind::kReplay:
        add(kReplay);
        break;
      case Kind::kCopy:
        add(kCopy, f.ends == CONSORT_OK);
        break;
      case Kind::kSwap:
        add(kSwap);
        break;
      case Kind::kPrefetch:
      case Kind::kEvict:
      case Kind::kWontUse:
      case Kind::kWriteThrough:
        add(kHint);
        break;
      default:
        break;
    }
  }
  for (const auto &[slot, n] : taking_turns) add(kCommute, n > 1);
  for (const auto &[slot, n] : contributing) add(kReduction, n > 1);
  add(kNestedWait, run.nested_waits() > 0);
  add(kSubmitters, c.programs.size() > 1);
}

void Seen::machine(const Case &c, mixed::Site &site, const Effects &) {
  consort_info info{};
  info.size = sizeof info;
  if (consort_get_info(site.rt, &info) < 0) return;
  add(kSmallWindow, c.machine.window < 2048 && info.submitted > static_cast<uint64_t>(c.machine.window));
  bool moved = false;
  for (uint32_t s = 0; s < info.nspaces; ++s) {
    consort_space_use use = CONSORT_SPACE_USE_INIT;
    if (consort_get_space_use(site.rt, s, &use) >= 0) add(kEviction, use.evictions > 0);
    for (uint32_t to = 0; to < info.nspaces; ++to) {
      consort_link_use link = CONSORT_LINK_USE_INIT;
      if (consort_get_link_use(site.rt, s, to, &link) == CONSORT_OK) moved |= link.copies > 0;
    }
  }
  add(kFaultSlow, c.machine.device.rfind("slow", 0) == 0 && all_[kDevice] && moved);
}

void Seen::faults(const Case &c, const Effects &e, int failures) {
  const auto demands = [&](const char *what) { return c.machine.device.rfind(what, 0) == 0; };
  add(kFaultAllocation, e.allocation > 0);
  add(kFaultPlugin, e.plugin > 0);
  add(kFaultDisk, e.disk > 0);
  add(kFaultMemory, demands("oom") && e.demanded);
  add(kFaultCopy, demands("copy") && e.demanded);
  add(kFaultKernel, demands("kernel") && e.demanded);
  // A device that really had work: one of its tasks ran there before, or failed with it.
  add(kFaultLost, demands("lost") && e.lost && (all_[kDevice] || failures > 0));
}

void Coverage::add(const Seen &seen) {
  cases.fetch_add(1, std::memory_order_relaxed);
  for (int a = 0; a < kFeatures; ++a) {
    if (!seen.all()[static_cast<size_t>(a)]) continue;
    for (int b = a; b < kFeatures; ++b)
      if (seen.all()[static_cast<size_t>(b)]) counts[a][b].fetch_add(1, std::memory_order_relaxed);
  }
}

// Pairs that no case can have. A case has one fault. In virtual time a body must not wait (E_BUSY), and data are not
// copied to other data; devices are only there.
bool cannot(int a, int b) {
  if (a > b) std::swap(a, b);
  if (a == b) return false;
  const auto only_virtual = [](int f) {
    return f == kDevice || f == kFaultMemory || f == kFaultCopy || f == kFaultKernel || f == kFaultLost || f == kFaultSlow;
  };
  if (a >= kFaultAllocation) return true;
  if (b == kFaultDisk) return only_virtual(a);
  return (a == kNestedWait || a == kCopy || b == kCopy) && only_virtual(a == kDevice ? a : b);
}

std::string matrix_of(const Coverage &c) {
  constexpr char kKeys[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static_assert(kFeatures < sizeof kKeys);
  const double n = static_cast<double>(std::max<uint64_t>(1, c.cases)) / 1e5;
  std::ostringstream out;
  out << "digits of each pair's count per 100,000 cases; 0: below one, .: never, -: cannot be\n" << std::string(21, ' ');
  out << std::string(kKeys, kFeatures) << "\n";
  for (int a = 0; a < kFeatures; ++a) {
    char head[32];
    std::snprintf(head, sizeof head, "%c %-18s ", kKeys[a], kNames[a]);
    out << head;
    for (int b = 0; b <= a; ++b) {
      const uint64_t count = c.counts[b][a];
      const auto scaled = static_cast<uint64_t>(static_cast<double>(count) / n);
      out << (cannot(a, b) ? "-" : !count ? "." : !scaled ? "0" : std::to_string(std::to_string(scaled).size()));
    }
    out << "\n";
  }
  return out.str();
}

std::string table_of(const Coverage &c) {
  std::ostringstream out;
  const double n = static_cast<double>(std::max<uint64_t>(1, c.cases)) / 1e5;
  out << "per 100,000 cases, of " << c.cases << ": how often each took effect, and with which other one most seldom\n";
  for (int a = 0; a < kFeatures; ++a) {
    uint64_t least = ~0ull;
    int with = a;
    for (int b = 0; b < kFeatures; ++b) {
      const uint64_t both = c.counts[std::min(a, b)][std::max(a, b)];
      if (b == a || cannot(a, b)) continue;
      if (both < least) least = both, with = b;
    }
    char line[128];
    std::snprintf(line, sizeof line, "%-18s %8.0f   least with %-18s %8.1f\n", kNames[a],
                  static_cast<double>(c.counts[a][a]) / n, kNames[with], static_cast<double>(least) / n);
    out << line;
  }
  return out.str();
}

std::string missing_in(const Coverage &c) {
  std::string all;
  for (int a = 0; a < kFeatures; ++a)
    for (int b = a; b < kFeatures; ++b)
      if (!c.counts[a][b] && !cannot(a, b))
        all += std::string(kNames[a]) + (a == b ? "" : std::string(" with ") + kNames[b]) + "\n";
  return all;
}

}  // namespace storm
