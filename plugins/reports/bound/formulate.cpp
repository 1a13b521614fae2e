#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "program.hpp"

namespace bound {
namespace {

constexpr double kMs = 1e6;  // in ns; ns as unit would exceed the solver's tolerances

// Makes names that are valid in both formats and unique.
class Names {
 public:
  std::string of(const std::string &text) {
    std::string word;
    for (const char c : text) word += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    if (word.size() > 60) word.resize(60);
    const uint32_t n = used_[word]++;
    return n ? word + "." + std::to_string(n + 1) : word;
  }

 private:
  std::map<std::string, uint32_t> used_;
};

std::vector<std::string> group_names(const Problem &p) {
  Names names;
  std::vector<std::string> all;
  for (const Group &g : p.groups) all.push_back(names.of(g.name));
  return all;
}

void busy_rows(const Problem &p, const std::vector<std::string> &groups, Program *out,
               const std::vector<std::vector<Program::Term>> &work) {
  for (uint32_t g = 0; g < p.groups.size(); ++g) {
    if (work[g].empty()) continue;
    Program::Row row{"busy_" + groups[g], Program::Row::kLess, 0, work[g]};
    row.terms.push_back({0, -p.groups[g].units});
    out->rows.push_back(std::move(row));
  }
}

Program area(const Problem &p, bool whole) {
  Program out;
  out.what = "least time in ms: number of tasks of each kind on each group of units";
  out.add("T", Program::kEndless, 1, false);
  const auto groups = group_names(p);
  std::vector<std::vector<Program::Term>> work(p.groups.size());
  Names names;
  for (const Kind &k : p.kinds) {
    const std::string name = names.of(k.name);
    Program::Row all{"all_" + name, Program::Row::kEqual, static_cast<double>(k.empty ? 0 : k.count), {}};
    for (uint32_t g = 0; g < p.groups.size(); ++g) {
      const bool can = !k.empty && !std::isnan(k.ns[g]);
      const uint32_t column = out.add("n_" + name + "_" + groups[g], can ? Program::kEndless : 0, 0, whole && can);
      if (!can) continue;
      all.terms.push_back({column, 1});
      work[g].push_back({column, k.ns[g] / kMs});
    }
    if (!k.empty && k.count) out.rows.push_back(std::move(all));
  }
  busy_rows(p, groups, &out, work);
  if (!p.chain.empty()) {
    Program::Row row{"chain", Program::Row::kLess, 0, {}};
    for (const ChainLink &link : p.chain) {
      const Kind &k = p.kinds[link.kind];
      if (!link.every) row.right -= link.links * best_ns(k) / kMs;
      for (uint32_t g = 0; link.every && g < p.groups.size(); ++g)
        if (!std::isnan(k.ns[g]))
          row.terms.push_back({1 + link.kind * static_cast<uint32_t>(p.groups.size()) + g, k.ns[g] / kMs});
    }
    row.terms.push_back({0, -1});
    out.rows.push_back(std::move(row));
  }
  return out;
}

// Variables: each task's share on each group (x), and its end (e), after its predecessors' ends plus its own time.
class ByTask {
 public:
  ByTask(const Problem &p, bool whole) : p_(p), groups_(group_names(p)), x_(p.tasks.size()), end_(p.tasks.size()) {
    out_.add("T", Program::kEndless, 1, false);
    std::vector<std::vector<Program::Term>> work(p.groups.size());
    std::vector<bool> last(p.tasks.size(), true);
    for (uint32_t t = 0; t < p.tasks.size(); ++t) {
      const Kind &k = p.kinds[p.tasks[t].kind];
      const std::string number = std::to_string(t);
      x_[t].assign(p.groups.size(), kNone);
      Program::Row somewhere{"runs_" + number, Program::Row::kEqual, 1, {}};
      for (uint32_t g = 0; g < p.groups.size(); ++g) {
        if (k.empty || std::isnan(k.ns[g])) continue;
        x_[t][g] = out_.add("x_" + number + "_" + groups_[g], whole ? 1 : Program::kEndless, 0, whole);
        somewhere.terms.push_back({x_[t][g], 1});
        work[g].push_back({x_[t][g], k.ns[g] / kMs});
      }
      if (!somewhere.terms.empty()) out_.rows.push_back(std::move(somewhere));
      end_[t] = out_.add("e_" + number, Program::kEndless, 0, false);
      for (const uint32_t before : p.tasks[t].after) {
        last[before] = false;
        out_.rows.push_back(behind("after_" + number + "_" + std::to_string(before), t, before));
      }
      if (p.tasks[t].after.empty()) out_.rows.push_back(behind("first_" + number, t, kNone));
    }
    for (uint32_t t = 0; t < p.tasks.size(); ++t)
      if (last[t]) out_.rows.push_back({"last_" + std::to_string(t), Program::Row::kMore, 0, {{0, 1}, {end_[t], -1}}});
    busy_rows(p, groups_, &out_, work);
    out_.what = "least time in ms: shares of each task (x), and its end (e)";
  }

  // Transfers into a memory: contents that a task reads there and that were not written there (y).
  void move() {
    std::vector<std::vector<uint32_t>> readers(p_.versions.size());
    for (uint32_t t = 0; t < p_.tasks.size(); ++t)
      for (const uint32_t v : p_.tasks[t].reads) readers[v].push_back(t);
    for (uint32_t place = 0; place < p_.places.size(); ++place) {
      if (!(p_.places[place].bytes_per_ns > 0)) continue;  // its links are unknown
      Program::Row in{"into_" + std::to_string(place), Program::Row::kLess, 0, {}};
      for (uint32_t v = 0; v < p_.versions.size(); ++v) {
        const Version &version = p_.versions[v];
        if (version.writer == kNone ? version.place == kNone || version.place == place
                                    : p_.kinds[p_.tasks[version.writer].kind].empty)
          continue;
        uint32_t moved = kNone;
        for (const uint32_t reader : readers[v]) {
          Program::Row row{"y_" + std::to_string(v) + "_" + std::to_string(place) + "_" + std::to_string(reader),
                           Program::Row::kMore, 0, {}};
          for (uint32_t g = 0; g < p_.groups.size(); ++g)
            if (p_.groups[g].place == place && x_[reader][g] != kNone) row.terms.push_back({x_[reader][g], -1});
          if (row.terms.empty()) continue;
          for (uint32_t g = 0; version.writer != kNone && g < p_.groups.size(); ++g)
            if (p_.groups[g].place == place && x_[version.writer][g] != kNone)
              row.terms.push_back({x_[version.writer][g], 1});
          if (moved == kNone) {
            moved = out_.add("m_" + std::to_string(v) + "_" + std::to_string(place), Program::kEndless, 0, false);
            in.terms.push_back({moved, version.bytes / p_.places[place].bytes_per_ns / kMs});
          }
          row.terms.push_back({moved, 1});
          out_.rows.push_back(std::move(row));
        }
      }
      if (in.terms.empty()) continue;
      in.terms.push_back({0, -1});
      out_.rows.push_back(std::move(in));
    }
    out_.what += ", and transferred contents (m)";
  }
  Program take() { return std::move(out_); }

 private:
  Program::Row behind(std::string name, uint32_t t, uint32_t before) const {
    Program::Row row{std::move(name), Program::Row::kMore, 0, {{end_[t], 1}}};
    if (before != kNone) row.terms.push_back({end_[before], -1});
    const Kind &k = p_.kinds[p_.tasks[t].kind];
    for (uint32_t g = 0; g < p_.groups.size(); ++g)
      if (x_[t][g] != kNone) row.terms.push_back({x_[t][g], -k.ns[g] / kMs});
    return row;
  }

  const Problem &p_;
  const std::vector<std::string> groups_;
  std::vector<std::vector<uint32_t>> x_;  // by task and group
  std::vector<uint32_t> end_;
  Program out_;
};

}  // namespace

double best_ns(const Kind &k) {
  double best = k.empty ? 0 : INFINITY;
  for (const double ns : k.ns)
    if (!k.empty && ns < best) best = ns;
  return best;
}

double longest_way_ns(const Problem &p) {
  std::vector<double> end(p.tasks.size());
  double longest = 0;
  for (size_t t = 0; t < p.tasks.size(); ++t) {
    for (const uint32_t before : p.tasks[t].after) end[t] = std::max(end[t], end[before]);
    end[t] += best_ns(p.kinds[p.tasks[t].kind]);
    longest = std::max(longest, end[t]);
  }
  return longest;
}

Program formulate(const Problem &p, Level level, bool whole) {
  if (level == Level::kArea) return area(p, whole);
  ByTask by_task(p, whole);
  if (level == Level::kTransfers) by_task.move();
  return by_task.take();
}

}  // namespace bound
