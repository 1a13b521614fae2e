#include "idle.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace tool {
namespace {

using Step = std::pair<uint64_t, int32_t>;  // when, by how much

std::vector<std::pair<uint64_t, uint32_t>> curve_of(std::vector<Step> &steps) {
  std::sort(steps.begin(), steps.end());
  std::vector<std::pair<uint64_t, uint32_t>> curve;
  int64_t now = 0;
  for (size_t i = 0; i < steps.size();) {
    const uint64_t at = steps[i].first;
    for (; i < steps.size() && steps[i].first == at; ++i) now += steps[i].second;
    curve.push_back({at, static_cast<uint32_t>(std::max<int64_t>(now, 0))});
  }
  return curve;
}

// Which state the tasks of a class are in at each time, and for how long each state lasted until then.
class States {
 public:
  States(const History &h, const std::vector<bool> &can_run_kind, bool knows_kinds) {
    std::vector<Step> ready, pending;
    uint64_t last_submission = 0;
    for (uint32_t i = 0; i < h.trace.tasks.size(); ++i) {
      const Trace::Task &t = h.trace.tasks[i];
      if (h.run_of[i] == kNoIndex) continue;
      const uint64_t submitted = t.at ? t.at : h.trace.begin, starts = h.trace.runs[h.run_of[i]].t0;
      last_submission = std::max(last_submission, submitted);
      pending.push_back({std::min(submitted, h.ready[i]), 1});
      pending.push_back({h.ready[i], -1});
      if (knows_kinds && t.kind < can_run_kind.size() && !can_run_kind[t.kind]) continue;
      ready.push_back({h.ready[i], 1});
      ready.push_back({starts, -1});
    }
    ready_curve = curve_of(ready);
    pending_curve = curve_of(pending);
    if (h.graph) integrate(h.trace.begin, h.trace.end, last_submission);
  }

  // Adds the time of each state between t0 and t1.
  void add(uint64_t t0, uint64_t t1, Idle::Sums *to) const {
    if (at_.empty()) {
      (*to)[static_cast<size_t>(Reason::kUnknown)] += static_cast<double>(t1 - t0);
      return;
    }
    const Idle::Sums a = until(t0), b = until(t1);
    for (size_t i = 0; i < kReasons; ++i) (*to)[i] += b[i] - a[i];
  }

  std::vector<std::pair<uint64_t, uint32_t>> ready_curve, pending_curve;

 private:
  void integrate(uint64_t begin, uint64_t end, uint64_t last_submission) {
    std::vector<uint64_t> when = {begin, end, std::clamp(last_submission, begin, end)};
    for (const auto *curve : {&ready_curve, &pending_curve})
      for (const auto &[at, n] : *curve)
        if (at > begin && at < end) when.push_back(at);
    std::sort(when.begin(), when.end());
    when.erase(std::unique(when.begin(), when.end()), when.end());
    Idle::Sums sum{};
    size_t r = 0, p = 0;
    for (size_t i = 0; i < when.size(); ++i) {
      if (i) sum[static_cast<size_t>(state_.back())] += static_cast<double>(when[i] - when[i - 1]);
      while (r < ready_curve.size() && ready_curve[r].first <= when[i]) ++r;
      while (p < pending_curve.size() && pending_curve[p].first <= when[i]) ++p;
      const bool ready = r && ready_curve[r - 1].second, pending = p && pending_curve[p - 1].second;
      at_.push_back(when[i]);
      sums_.push_back(sum);
      state_.push_back(ready ? Reason::kScheduling : pending ? Reason::kOrder : when[i] < last_submission ? Reason::kSubmission : Reason::kEnd);
    }
  }
  Idle::Sums until(uint64_t t) const {
    const size_t after = static_cast<size_t>(std::upper_bound(at_.begin(), at_.end(), t) - at_.begin());
    if (!after) return {};
    Idle::Sums sum = sums_[after - 1];
    sum[static_cast<size_t>(state_[after - 1])] += static_cast<double>(t - at_[after - 1]);
    return sum;
  }

  std::vector<uint64_t> at_;
  std::vector<Idle::Sums> sums_;
  std::vector<Reason> state_;
};

std::vector<std::vector<std::pair<uint64_t, uint64_t>>> fetches_by_worker(const Trace &t) {
  std::vector<std::vector<std::pair<uint64_t, uint64_t>>> all(t.workers.size());
  for (const Trace::Fetch &f : t.fetches) {  // by begin: joined where they overlap
    auto &own = all[f.worker];
    if (!own.empty() && f.t0 <= own.back().second) own.back().second = std::max(own.back().second, f.t1);
    else own.push_back({f.t0, f.t1});
  }
  return all;
}

}  // namespace

const char *reason_name(Reason r) {
  static constexpr const char *kNames[] = {"data", "scheduling", "order", "submission", "end", "unknown"};
  return kNames[static_cast<size_t>(r)];
}

const char *reason_words(Reason r) {
  static constexpr const char *kWords[] = {"waiting for data", "a ready task was not given to it", "waiting for other tasks to end",
                                           "waiting for the program to submit", "no task was left", "reason unknown"};
  return kWords[static_cast<size_t>(r)];
}

Idle::Idle(const History &h) : by_worker(h.trace.workers.size()), asleep(h.trace.workers.size()) {
  const Trace &t = h.trace;
  worker_time = static_cast<double>(t.end - t.begin) * static_cast<double>(t.workers.size());
  // Workers of one class that can run the same kinds have the same states.
  std::map<std::pair<std::string, std::vector<bool>>, States> states;
  constexpr size_t kMostTimes = size_t{1} << 28;  // beyond, each worker counts as able to run all
  const bool knows = !t.times.empty() && t.kinds.size() <= kMostTimes / t.workers.size();
  std::vector<std::vector<bool>> can(t.workers.size(), std::vector<bool>(knows ? t.kinds.size() : 0));
  for (const Trace::Time &one : t.times)
    if (knows) can[one.worker][one.kind] = true;
  const auto fetches = fetches_by_worker(t);
  for (uint32_t w = 0; w < t.workers.size(); ++w) {
    const States &mine = states.try_emplace({t.workers[w].klass, can[w]}, h, can[w], knows).first->second;
    size_t f = 0;
    const auto idle = [&](uint64_t t0, uint64_t t1) {
      const auto piece = [&](uint64_t from, uint64_t to, bool data) {
        if (from >= to) return;
        Sums sums{};
        if (data) sums[static_cast<size_t>(Reason::kData)] = static_cast<double>(to - from);
        else mine.add(from, to, &sums);
        for (size_t i = 0; i < kReasons; ++i) by_worker[w][i] += sums[i];
        const auto most = static_cast<Reason>(std::max_element(sums.begin(), sums.end()) - sums.begin());
        gaps.push_back({w, from, to, most});
      };
      while (f < fetches[w].size() && fetches[w][f].second <= t0) ++f;
      for (size_t k = f; k < fetches[w].size() && fetches[w][k].first < t1; ++k) {
        const uint64_t from = std::max(t0, fetches[w][k].first), to = std::min(t1, fetches[w][k].second);
        piece(t0, from, false);
        piece(from, to, true);
        t0 = std::max(t0, to);
      }
      piece(t0, t1, false);
    };
    uint64_t until = t.begin;
    for (const uint32_t r : h.runs_of[w]) {
      if (t.runs[r].t0 > until) idle(until, t.runs[r].t0);
      until = std::max(until, t.runs[r].t1);
    }
    if (until < t.end) idle(until, t.end);
    for (size_t i = 0; i < kReasons; ++i) all[i] += by_worker[w][i];
  }
  for (const Trace::Sleep &s : t.sleeps)
    if (const uint64_t from = std::max(s.t0, t.begin), to = std::min(s.t1, t.end); from < to) asleep[s.worker] += static_cast<double>(to - from);
  if (h.graph) {
    States every(h, {}, false);
    ready_curve = std::move(every.ready_curve);
    pending_curve = std::move(every.pending_curve);
  }
}

}  // namespace tool
