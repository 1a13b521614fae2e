// planted_run.hpp — writes traces of runs that never were: tasks with data on described workers, played by a small list
// scheduler, so that a test knows why the run took as long as it did.
//
// Header only. Times are in ns from 1,000,000.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>

namespace consort_test {

class PlantedRun {
 public:
  static constexpr uint64_t kBegin = 1000000;
  struct Use { uint32_t datum; char how; };
  struct Task {
    uint32_t kind;
    std::vector<Use> uses;
    uint64_t submitted = 0;              // after kBegin
    int32_t priority = 0;
    double factor = 1;                   // of the kind's time
    int64_t only = -1;                   // the worker that must run it
    int32_t status = 0;
  };
  struct Worker { std::string name, klass; uint32_t space; double slower; };
  struct Kind { std::string name; std::map<std::string, double> ns; };  // by class of worker

  // -- the machine --
  std::vector<std::string> spaces = {"ram"};
  std::vector<Worker> workers;
  std::string scheduler = "eager";
  uint64_t gap = 100;                    // the runtime's, between two tasks
  double bytes_per_ns = 10, nominal = 10;
  uint64_t limit = 0;                    // bytes of each memory but the first; 0: none
  bool shared = false;                   // all links have one bandwidth together
  double expected = 0;                   // expected time over the real one; 0: no estimates
  std::function<bool(uint32_t worker, const Task &)> refuses = [](uint32_t, const Task &) { return false; };
  bool by_finish = false;                // a task goes where it ends first, or waits for that worker
  // -- the program --
  std::vector<Kind> kinds;
  std::vector<uint64_t> data;            // bytes
  std::vector<Task> tasks;

  void cores(uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) workers.push_back({"cpu" + std::to_string(i), "cpu", 0, 1});
  }
  void cards(uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      spaces.push_back("card" + std::to_string(i));
      workers.push_back({"gpu" + std::to_string(i), "gpu", static_cast<uint32_t>(spaces.size() - 1), 1});
    }
  }
  uint32_t kind(const std::string &name, std::map<std::string, double> ns) {
    kinds.push_back({name, std::move(ns)});
    return static_cast<uint32_t>(kinds.size() - 1);
  }
  uint32_t datum(uint64_t bytes) {
    data.push_back(bytes);
    return static_cast<uint32_t>(data.size() - 1);
  }
  Task &task(uint32_t kind_of_it, std::vector<Use> uses = {}, uint64_t submitted = 0) {
    tasks.push_back({kind_of_it, std::move(uses), submitted ? submitted : tasks.size() * 200});
    return tasks.back();
  }

  void write(const std::string &path) {
    order();
    play();
    std::ofstream out(path);
    out << "consort trace 1\nclock\tvirtual\nscheduler\t" << scheduler << "\n";
    for (size_t i = 0; i < workers.size(); ++i) out << "worker\t" << i << "\t" << workers[i].name << "\t" << workers[i].klass << "\n";
    for (size_t i = 0; i < spaces.size(); ++i) out << "space\t" << i << "\t" << spaces[i] << "\n";
    for (size_t i = 0; i < kinds.size(); ++i) out << "codelet\t" << i << "\t" << kinds[i].name << "\n";
    out << "home\t0\n";
    for (size_t i = 0; i < workers.size(); ++i) out << "at\t" << i << "\t" << workers[i].space << "\n";
    for (size_t a = 0; a < spaces.size(); ++a)
      for (size_t b = 0; b < spaces.size(); ++b)
        if (a != b) out << "link\t" << a << "\t" << b << "\t" << static_cast<uint64_t>(nominal * 1e9) << "\t1000\n";
    for (size_t k = 0; k < kinds.size(); ++k) {
      out << "kind\t" << k << "\t" << kinds[k].name << "\tab" << k << "\t8\n";
      for (size_t w = 0; w < workers.size(); ++w)
        if (const auto ns = kinds[k].ns.find(workers[w].klass); ns != kinds[k].ns.end()) out << "time\t" << k << "\t" << w << "\t" << static_cast<uint64_t>(ns->second) << "\n";
    }
    out << std::hex;
    for (size_t d = 0; d < data.size(); ++d) out << "datum\t" << 256 + d << std::dec << "\t" << data[d] << "\t0\t0\n" << std::hex;
    for (size_t t = 0; t < tasks.size(); ++t) {
      out << "task\t" << id(t) << std::dec << "\t" << tasks[t].kind << "\t" << tasks[t].priority << "\t" << std::hex;
      for (size_t u = 0; u < tasks[t].uses.size(); ++u) out << (u ? "," : "") << tasks[t].uses[u].how << 256 + tasks[t].uses[u].datum;
      out << "\t\t" << std::dec << kBegin + tasks[t].submitted << "\n" << std::hex;
    }
    out << std::dec << "submitted\t" << kBegin << "\t0\n" << events_ << "end\t0\n";
  }
  uint64_t end() const { return end_; }

 private:
  static uint64_t id(size_t t) { return 0x100000000ull + t; }
  double takes(uint32_t w, const Task &t) const {
    const auto ns = kinds[t.kind].ns.find(workers[w].klass);
    return ns == kinds[t.kind].ns.end() ? -1 : ns->second * t.factor * workers[w].slower;
  }

  void order() {
    struct Past { std::vector<uint32_t> writers, readers; };
    std::vector<Past> past(data.size());
    waits_.assign(tasks.size(), 0);
    behind_.assign(tasks.size(), {});
    for (uint32_t t = 0; t < tasks.size(); ++t) {
      std::set<uint32_t> before;
      for (const Use &u : tasks[t].uses) {
        Past &p = past[u.datum];
        const auto &from = u.how == 'r' || p.readers.empty() ? p.writers : p.readers;
        before.insert(from.begin(), from.end());
      }
      for (const Use &u : tasks[t].uses) {
        Past &p = past[u.datum];
        if (u.how == 'r') p.readers.push_back(t);
        else p.writers = {t}, p.readers.clear();
      }
      before.erase(t);
      waits_[t] = static_cast<uint32_t>(before.size());
      for (const uint32_t b : before) behind_[b].push_back(t);
    }
  }

  template <class... A> void event(const char *form, A... a) {
    char line[256];
    std::snprintf(line, sizeof line, form, a...);
    events_ += line;
  }

  struct Held { uint64_t last = 0; bool there = false, left = false; };  // of a datum in a memory
  // Brings the data of a task to a memory from `now` on; returns when they are there.
  uint64_t bring(const Task &t, uint32_t space, uint64_t now) {
    uint64_t there = now;
    for (const Use &u : t.uses) {
      auto &at = places_[u.datum];
      if (at.empty()) at.resize(spaces.size()), at[0].there = true;
      Held &here = at[space];
      here.last = ++tick_;
      if (here.there || (u.how == 'w')) {
        if (!here.there) make_room(space, data[u.datum], t, now);
        continue;
      }
      make_room(space, data[u.datum], t, now);
      uint32_t from = 0;
      while (from < spaces.size() && !at[from].there) ++from;
      uint64_t &link = links_[shared ? std::pair<uint32_t, uint32_t>{0, 0} : std::pair{from, space}];
      const uint64_t begin = std::max(now, link), end = begin + 1000 + static_cast<uint64_t>(static_cast<double>(data[u.datum]) / bytes_per_ns);
      link = end;
      event("copy\t%u\t%u\t%llu\t%llu\t%llu\t%x\t0\td\n", from, space, ull(begin), ull(end), ull(data[u.datum]), 256 + u.datum);
      here.there = true;
      there = std::max(there, end);
    }
    for (const Use &u : t.uses) {
      if (u.how == 'r') continue;
      for (uint32_t s = 0; s < spaces.size(); ++s)
        if (s != space && places_[u.datum][s].there) places_[u.datum][s].there = false, used_[s] -= s ? data[u.datum] : 0;
      places_[u.datum][space].there = true;
    }
    return there;
  }
  void make_room(uint32_t space, uint64_t bytes, const Task &t, uint64_t now) {
    if (!space) return;
    while (limit && used_[space] + bytes > limit) {
      uint32_t oldest = UINT32_MAX;
      for (auto &[d, at] : places_)
        if (at[space].there && std::none_of(t.uses.begin(), t.uses.end(), [&](const Use &u) { return u.datum == d; }) &&
            (oldest == UINT32_MAX || at[space].last < places_[oldest][space].last))
          oldest = d;
      if (oldest == UINT32_MAX) break;
      if (!places_[oldest][0].there) event("copy\t%u\t0\t%llu\t%llu\t%llu\t%x\t0\ts\n", space, ull(now), ull(now + 1000), ull(data[oldest]), 256 + oldest);
      event("evict\t%u\t%llu\t%x\t%llu\n", space, ull(now), 256 + oldest, ull(data[oldest]));
      places_[oldest][space].there = false;
      places_[oldest][0].there = true;
      used_[space] -= data[oldest];
    }
    used_[space] += bytes;
    event("used\t%u\t%llu\t%llu\t%llu\n", space, ull(now), ull(used_[space]), ull(limit));
  }
  static unsigned long long ull(uint64_t n) { return n; }

  void play() {
    using Moment = std::pair<uint64_t, uint32_t>;
    std::priority_queue<Moment, std::vector<Moment>, std::greater<>> coming, ending;  // tasks that become ready; that end
    std::vector<uint64_t> free(workers.size(), kBegin), ready_at(tasks.size());
    std::multimap<std::pair<int32_t, uint64_t>, uint32_t> ready;
    std::vector<bool> busy(workers.size());
    std::vector<uint32_t> where(tasks.size());
    for (uint32_t t = 0; t < tasks.size(); ++t)
      if (!waits_[t]) coming.push({kBegin + tasks[t].submitted, t});
    used_.assign(spaces.size(), 0);
    uint64_t now = kBegin, order = 0;
    while (!coming.empty() || !ending.empty() || !ready.empty()) {
      while (!coming.empty() && coming.top().first <= now) {
        ready.insert({{-tasks[coming.top().second].priority, order++}, coming.top().second});
        coming.pop();
      }
      for (auto at = ready.begin(); at != ready.end();) {
        const int64_t w = choose(tasks[at->second], busy, free, now);
        if (w < 0) {
          ++at;
          if (std::all_of(busy.begin(), busy.end(), [](bool b) { return b; })) break;
          continue;
        }
        const uint32_t t = at->second, worker = static_cast<uint32_t>(w);
        const uint64_t from = std::max(now, free[worker] + gap), begin = bring(tasks[t], workers[worker].space, from);
        const auto took = static_cast<uint64_t>(takes(worker, tasks[t]));
        if (begin > from) event("fetch\t%u\t%llu\t%llu\t%llx\n", worker, ull(from), ull(begin), ull(id(t)));
        event("run\t%u\t%llu\t%llu\t%u\t%llx\t0\t%lld\t%d\n", worker, ull(begin), ull(begin + took), tasks[t].kind, ull(id(t)),
              expected > 0 ? static_cast<long long>(static_cast<double>(took) * expected) : -1LL, tasks[t].status);
        free[worker] = begin + took;
        busy[worker] = true;
        where[t] = worker;
        ending.push({begin + took, t});
        at = ready.erase(at);
      }
      uint64_t next = UINT64_MAX;
      if (!coming.empty()) next = coming.top().first;
      if (!ending.empty()) next = std::min(next, ending.top().first);
      if (next == UINT64_MAX) break;
      now = std::max(now, next);
      while (!ending.empty() && ending.top().first <= now) {
        const uint32_t t = ending.top().second;
        end_ = std::max(end_, ending.top().first);
        busy[where[t]] = false;
        ending.pop();
        for (const uint32_t b : behind_[t])
          if (--waits_[b] == 0) coming.push({std::max(now, kBegin + tasks[b].submitted), b});
      }
    }
  }
  int64_t choose(const Task &t, const std::vector<bool> &busy, const std::vector<uint64_t> &free, uint64_t now) const {
    int64_t best = -1;
    double soonest = 0;
    for (uint32_t w = 0; w < workers.size(); ++w) {
      const double ns = takes(w, t);
      if (ns < 0 || (t.only >= 0 && t.only != w) || refuses(w, t)) continue;
      if (busy[w] && !by_finish) continue;
      const double ends = static_cast<double>(std::max(free[w], now)) + ns;
      if (!by_finish) return w;
      if (best < 0 || ends < soonest) best = w, soonest = ends;
    }
    return best >= 0 && busy[static_cast<size_t>(best)] ? -1 : best;
  }

  std::vector<uint32_t> waits_;
  std::vector<std::vector<uint32_t>> behind_;
  std::map<uint32_t, std::vector<Held>> places_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> links_;
  std::vector<uint64_t> used_;
  std::string events_;
  uint64_t tick_ = 0, end_ = 0;
};

}  // namespace consort_test
