// findings_data.cpp — rules about data: memory limits, data that go to and fro, links.
#include <algorithm>
#include <cstdio>
#include <map>

#include "../commands.hpp"
#include "finding.hpp"

namespace tool {
namespace {

// Share of all workers' time that those at this memory waited for data.
double waits_at(const Analysis &a, int32_t space) {
  double ns = 0;
  for (uint32_t w = 0; w < a.trace.workers.size(); ++w)
    if (space < 0 || a.trace.workers[w].space == space || a.trace.workers[w].space < 0) ns += a.idle.by_worker[w][static_cast<size_t>(Reason::kData)];
  return ns / std::max(1.0, a.idle.worker_time);
}

std::string waiting_worker(const Analysis &a, uint32_t space, uint32_t *worker) {
  double most = 0;
  for (uint32_t w = 0; w < a.trace.workers.size(); ++w) {
    const double ns = a.idle.by_worker[w][static_cast<size_t>(Reason::kData)];
    if ((a.trace.workers[w].space == static_cast<int32_t>(space) || a.trace.workers[w].space < 0) && ns > most) most = ns, *worker = w;
  }
  if (*worker == kNoIndex) return {};
  return "Worker " + a.trace.workers[*worker].name + " waited for data " + share_words(most / std::max(1.0, a.summary.span)) + " of the time. ";
}

bool is_too_small(const MemorySummary &m) {
  return m.evictions >= 4 && static_cast<double>(m.again_bytes) >= 0.2 * static_cast<double>(m.arrived_bytes);
}

}  // namespace

// The memory whose workers wait most; others of the same kind are counted with it.
void find_memory_limit(const Analysis &a, RunFindings *out) {
  const MemorySummary *worst = nullptr;
  double all = 0, most_waits = 0, count = 0;
  for (const MemorySummary &one : a.summary.memories) {
    if (!is_too_small(one)) continue;
    const double waits = waits_at(a, static_cast<int32_t>(one.space));
    all += waits, ++count;
    if (waits > most_waits) most_waits = waits, worst = &one;
  }
  if (worst && all >= 0.05) {
    const MemorySummary &m = *worst;
    uint32_t worker = kNoIndex;
    std::string evidence = waiting_worker(a, m.space, &worker);
    evidence += count_words(static_cast<double>(m.evictions), "replica was", "replicas were") + " evicted from " + a.trace.spaces[m.space] + ", and " +
                bytes(m.again_bytes) + " of the " + bytes(m.arrived_bytes) + " that were copied there had been there before.";
    if (!m.evictions_of.empty()) {
      const auto most = std::max_element(m.evictions_of.begin(), m.evictions_of.end(), [](const auto &x, const auto &y) { return x.second < y.second; });
      if (most->second > 1) evidence += " Most often " + a.datum_words(most->first) + ": " + count_words(most->second, "time", "times") + ".";
    }
    if (m.limit) evidence += " Its limit is " + bytes(m.limit) + ".";
    if (count > 1) evidence += " " + count_words(count - 1, "more memory is", "more memories are") + " too small as well.";
    out->push_back({"memory-limit", all * 1.2 + 0.01, "The memory " + a.trace.spaces[m.space] + " is too small for the data in use",
                    evidence,
                    "Raise its limit (the setting limits) if the device has more; use smaller blocks, or an order that finishes with a block "
                    "before it takes the next. The scheduler dmdar prefers tasks whose data are there; darts plans for a memory that is too small.",
                    0, 0, worker, kNoIndex});
  }
}

// Contents that are copied there, back and there again.
void find_ping_pong(const Analysis &a, RunFindings *out) {
  struct Way { uint32_t from = kNoIndex, to = kNoIndex, turns = 0; uint64_t bytes = 0; };
  std::unordered_map<uint64_t, Way> last;
  uint64_t all = 0, turned = 0;
  for (const Trace::Copy &c : a.trace.copies) {
    if (c.status < 0 || c.why == 's') continue;
    all += c.bytes;
    Way &w = last[c.datum];
    if (w.from == c.to && w.to == c.from) ++w.turns, w.bytes += c.bytes, turned += c.bytes;
    w.from = c.from, w.to = c.to;
  }
  constexpr uint32_t kOften = 4;
  uint64_t datum = 0, often = 0;
  double data = 0;
  Way worst;
  for (const auto &[id, w] : last)
    if (w.turns >= kOften) {
      ++data;
      often += w.bytes;
      if (w.bytes > worst.bytes || (w.bytes == worst.bytes && id < datum)) worst = w, datum = id;
    }
  const double waits = waits_at(a, -1);
  if (!data || static_cast<double>(often) < 0.3 * static_cast<double>(all) || waits < 0.05) return;
  std::map<std::string, uint32_t> users;
  size_t u = 0;
  for (const Trace::Task &t : a.trace.tasks)
    for (; u < t.uses; ++u)
      if (a.trace.uses[u].datum == datum && t.kind < a.trace.kinds.size()) ++users[a.trace.kinds[t.kind].codelet];
  std::string names;
  for (const auto &[name, n] : users)
    if (name != "-") names += (names.empty() ? "" : " and ") + name;
  out->push_back({"ping-pong", waits * static_cast<double>(often) / std::max<double>(1, static_cast<double>(all)) * 1.3 + 0.01,
                  "Data go to and fro between " + a.trace.spaces[worst.from] + " and " + a.trace.spaces[worst.to],
                  count_words(data, "datum", "data") + " changed sides " + std::to_string(kOften) + " times or more, " + bytes(often) + " of " + bytes(all) +
                      " in all; " + a.datum_words(datum) + " did so " + count_words(worst.turns, "time", "times") +
                      (names.empty() ? "" : ", used by " + names) + ". Workers waited for data " + share_words(waits) + " of their time.",
                  "Let the tasks that share it run on one side: give the codelets the implementations that are missing there, or use a scheduler "
                  "that counts copies (dmda, dmdar). Tasks of both sides may do more work for each change.",
                  0, 0, kNoIndex, kNoIndex});
}

// One link, or all that leave a memory together, move bytes for most of the run.
void find_full_links(const Analysis &a, RunFindings *out) {
  const double span = std::max(1.0, a.summary.span), waits = waits_at(a, -1);
  if (waits < 0.1) return;
  std::map<uint32_t, std::pair<double, uint64_t>> leaving;  // by memory: time with a copy on its way, and until when
  for (const Trace::Copy &c : a.trace.copies) {
    auto &[busy, until] = leaving[c.from];
    if (c.t1 > until) busy += static_cast<double>(c.t1 - std::max(c.t0, until)), until = c.t1;
  }
  const LinkSummary *most = nullptr;
  for (const LinkSummary &l : a.summary.links)
    if (!most || leaving[l.from].first > leaving[most->from].first || (l.from == most->from && l.busy > most->busy)) most = &l;
  if (!most || leaving[most->from].first < 0.75 * span) return;
  uint64_t moved = 0, copies = 0;
  uint32_t together = 0;
  for (const LinkSummary &l : a.summary.links)
    if (l.from == most->from && l.busy >= 0.3 * most->busy) ++together, moved += l.bytes, copies += l.copies;
  const std::string from = a.trace.spaces[most->from], name = from + " to " + a.trace.spaces[most->to];
  // Links that carry again what was evicted are full for that reason.
  const bool again = std::any_of(a.summary.memories.begin(), a.summary.memories.end(), is_too_small);
  out->push_back({"full-link", again ? waits * 0.5 : waits, together > 1 ? "The links out of " + from + " are in use all the time" : "The link " + name + " is full",
                  "Bytes leave " + from + " " + share_words(leaving[most->from].first / span) + " of the time, " + bytes(moved) + " in " +
                      count_words(static_cast<double>(copies), "copy", "copies") +
                      (together > 1 ? " over " + count_words(together, "link", "links") + ", which may share one bandwidth." : ".") + " Workers waited for data " +
                      share_words(waits) + " of their time.",
                  "Copy less: keep data where they are used (dmda, dmdar), do more work for each byte copied, use fewer devices for this part, or "
                  "a format of half the size.",
                  0, 0, kNoIndex, kNoIndex});
}

// Large copies far below what the link can do.
void find_slow_copies(const Analysis &a, RunFindings *out) {
  constexpr uint64_t kLarge = 1 << 20;
  for (const LinkSummary &l : a.summary.links) {
    if (l.nominal <= 0 || l.busy < 0.1 * a.summary.span) continue;
    double moved = 0, took = 0, n = 0;
    uint64_t until = 0;
    for (const Trace::Copy &c : a.trace.copies) {
      if (c.from != l.from || c.to != l.to || c.bytes < kLarge || c.status < 0) continue;
      moved += static_cast<double>(c.bytes);
      if (c.t1 > until) took += static_cast<double>(c.t1 - std::max(c.t0, until)), until = c.t1;
      ++n;
    }
    if (n < 4 || took <= 0 || moved / took > 0.4 * l.nominal) continue;
    const double waits = waits_at(a, static_cast<int32_t>(l.to));
    if (waits < 0.05) continue;
    char speed[96];
    std::snprintf(speed, sizeof speed, "%.3g of the %.3g GB/s", moved / took, l.nominal);
    out->push_back({"slow-copies", waits * 1.1, "Copies from " + a.trace.spaces[l.from] + " to " + a.trace.spaces[l.to] + " are slower than the link",
                    count_words(n, "copy", "copies") + " of 1 MiB and more reach " + speed + " that the link was measured with.",
                    "Host memory that is not pinned is the usual reason: allocate data by consort_malloc, or pin them when they are registered. "
                    "Copies of many short rows are slow, too: register blocks that are contiguous.",
                    0, 0, kNoIndex, kNoIndex});
  }
}

}  // namespace tool
