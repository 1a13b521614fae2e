#include "finding.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "../commands.hpp"

namespace tool {

std::string id_words(uint64_t id) {
  char text[17];
  return {text, std::to_chars(text, text + sizeof text, id, 16).ptr};
}

std::string time_words(double ns) {
  char text[48];
  const double a = std::fabs(ns);
  const char *unit = a < 1e3 ? "ns" : a < 1e6 ? "us" : a < 1e9 ? "ms" : "s";
  std::snprintf(text, sizeof text, "%.3g %s", a < 1e3 ? ns : a < 1e6 ? ns / 1e3 : a < 1e9 ? ns / 1e6 : ns / 1e9, unit);
  return text;
}

std::string share_words(double share) {
  char text[24];
  std::snprintf(text, sizeof text, share < 0.0995 ? "%.1f %%" : "%.0f %%", share * 100);
  return text;
}

std::string count_words(double n, const char *one, const char *many) {
  std::string digits = std::to_string(static_cast<uint64_t>(n));
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits + " " + (n == 1 ? one : many);
}

std::string Analysis::datum_words(uint64_t id) const {
  const std::string name = "datum " + id_words(id);
  for (const Trace::Datum &d : trace.data)
    if (d.id == id) return name + " (" + bytes(d.bytes) + ")";
  return name;
}

RunFindings find_all(const Analysis &a) {
  RunFindings all;
  if (a.trace.runs.empty()) return all;
  for (const auto rule : {find_small_tasks, find_slow_workers, find_failures, find_wrong_estimates, find_wrong_policy,
                          find_missing_implementations, find_submission, find_chain, find_uneven_end, find_withheld_tasks,
                          find_memory_limit, find_ping_pong, find_full_links, find_slow_copies})
    rule(a, &all);
  std::stable_sort(all.begin(), all.end(), [](const RunFinding &x, const RunFinding &y) { return x.share > y.share; });
  // The rule of ready tasks that are withheld, and that of an uneven end, see a consequence of other causes.
  const auto explained = [&](const RunFinding &f) {
    if (f.rule != "withheld-tasks" && f.rule != "uneven-end" && f.rule != "serial-chain") return false;
    for (const RunFinding &other : all) {
      // A worker that waits for data also holds back the tasks that are to run there.
      if (f.rule == "withheld-tasks" && other.share > f.share * 0.15 &&
          (other.rule == "memory-limit" || other.rule == "full-link" || other.rule == "ping-pong" || other.rule == "slow-copies")) return true;
      if (other.share < f.share * 0.4) continue;
      if (f.rule == "withheld-tasks" && (other.rule == "small-tasks" || other.rule == "missing-implementation")) return true;
      if (f.rule == "uneven-end" && (other.rule == "slow-worker" || other.rule == "wrong-policy" || other.rule == "wrong-estimates" ||
                                     other.rule == "missing-implementation")) return true;
      if (f.rule == "serial-chain" && other.rule == "slow-worker") return true;
    }
    return false;
  };
  std::vector<bool> drop;
  for (const RunFinding &f : all) drop.push_back(explained(f));
  RunFindings kept;
  for (size_t i = 0; i < all.size(); ++i)
    if (!drop[i]) kept.push_back(std::move(all[i]));
  return kept;
}

}  // namespace tool
