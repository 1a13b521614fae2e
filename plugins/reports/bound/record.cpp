#include "record.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "order.hpp"

namespace bound {
namespace {

constexpr uint32_t kMost = 1 << 24;
constexpr size_t kMostTimes = 1 << 24;  // limit for kinds times workers

class Line {
 public:
  Line(std::string_view text, size_t number) : number_(number) {
    for (size_t at = 0;;) {
      const size_t tab = text.find('\t', at);
      fields_.push_back(text.substr(at, tab - at));
      if (tab == text.npos) break;
      at = tab + 1;
    }
  }
  std::string_view kind() const { return fields_[0]; }
  [[noreturn]] void refuse(const std::string &what) const {
    throw std::runtime_error("line " + std::to_string(number_) + " of the record: " + what);
  }
  void needs(size_t n) const {
    if (fields_.size() != n + 1) refuse("\"" + std::string(kind()) + "\" has " + std::to_string(n) + " fields, this line " + std::to_string(fields_.size() - 1));
  }
  bool has(size_t n) const { return fields_.size() == n + 1; }
  std::string_view text(size_t i) const { return fields_[i + 1]; }
  uint64_t whole(std::string_view s, int base) const {
    uint64_t n = 0;
    if (s.empty() || s.size() > 20) refuse("\"" + std::string(s) + "\" is not a valid number here");
    for (const char c : s) {
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
      if (digit >= base) refuse("\"" + std::string(s) + "\" is not a valid number here");
      n = n * static_cast<uint64_t>(base) + static_cast<uint64_t>(digit);
    }
    return n;
  }
  uint64_t number(size_t i) const { return whole(text(i), 10); }
  uint64_t hex(size_t i) const { return whole(text(i), 16); }
  uint32_t index(size_t i, size_t below) const {
    const uint64_t n = number(i);
    if (n >= below) refuse("\"" + std::string(text(i)) + "\" is not a valid number here");
    return static_cast<uint32_t>(n);
  }
  int64_t maybe_less(size_t i) const {  // may be negative
    const std::string_view s = text(i);
    const bool less = s.starts_with('-');
    const uint64_t n = whole(s.substr(less), 10);
    if (n > INT64_MAX) refuse("\"" + std::string(s) + "\" is not a valid number here");
    return less ? -static_cast<int64_t>(n) : static_cast<int64_t>(n);
  }
  template <class F> void each(size_t i, F f) const {  // of a list with commas
    for (std::string_view s = text(i); !s.empty();) {
      const size_t comma = std::min(s.find(','), s.size());
      f(s.substr(0, comma));
      s.remove_prefix(std::min(comma + 1, s.size()));
    }
  }

 private:
  const size_t number_;
  std::vector<std::string_view> fields_;
};

struct Worker { std::string name, klass; uint32_t space = 0; };
struct KindLine { std::string name; uint32_t codelet = kNone; std::vector<double> ns; };  // by worker; NaN not eligible, < 0 unknown
struct Run { uint32_t worker, codelet; uint64_t t0, t1, task; };

class Reader {
 public:
  Record read(std::string_view text) {
    size_t at = 0, number = 0;
    for (; at < text.size(); ) {
      const size_t end = std::min(text.find('\n', at), text.size());
      take(Line(text.substr(at, end - at), ++number));
      at = end + 1;
    }
    if (!number || !ended_) throw std::runtime_error("the record is truncated: it has no end");
    sum_up();
    return std::move(out_);
  }

 private:
  void take(const Line &l) {
    const std::string_view kind = l.kind();
    if (!begun_) {
      if (kind != "consort trace 1") l.refuse("this is not a record of a run (docs/trace.md)");
      begun_ = true;
    } else if (ended_) {
      l.refuse("there is text behind the end");
    } else if (kind == "worker") {
      l.needs(3);
      if (l.index(0, kMost) != workers_.size()) l.refuse("workers are numbered from 0");
      if (!kinds_.empty()) l.refuse("a worker follows a kind, which has a time for each worker");
      workers_.push_back({std::string(l.text(1)), std::string(l.text(2)), 0});
    } else if (kind == "space") {
      l.needs(2);
      if (l.index(0, kMost) != spaces_.size()) l.refuse("spaces are numbered from 0");
      spaces_.emplace_back(l.text(1));
    } else if (kind == "codelet") {
      l.needs(2);
      codelets_[l.index(0, kMost)] = l.text(1);
    } else if (kind == "home") {
      l.needs(1);
      home_ = l.index(0, spaces_.size());
    } else if (kind == "at") {
      l.needs(2);
      workers_[l.index(0, workers_.size())].space = l.index(1, spaces_.size());
    } else if (kind == "link") {
      l.needs(4);
      links_.push_back({l.index(0, spaces_.size()), l.index(1, spaces_.size()), static_cast<double>(l.number(2)) / 1e9});
    } else if (kind == "kind") {
      l.needs(4);
      if (l.index(0, kMost) != kinds_.size()) l.refuse("kinds are numbered from 0");
      expect_room_for_kind();
      kinds_.push_back({std::string(l.text(1)), kNone, std::vector<double>(workers_.size(), NAN)});
      out_.problem.kinds.push_back({std::string(l.text(1)), 0, {}, l.text(1) == "-"});
    } else if (kind == "time") {
      l.needs(3);
      kinds_[l.index(0, kinds_.size())].ns[l.index(1, workers_.size())] = static_cast<double>(l.maybe_less(2));
    } else if (kind == "datum") {
      l.needs(4);
      const int64_t space = l.maybe_less(2);
      if (space >= static_cast<int64_t>(spaces_.size())) l.refuse("no such space");
      order_.datum(l.hex(0), static_cast<double>(l.number(1)), space < 0 ? kNone : static_cast<uint32_t>(space), l.hex(3));
    } else if (kind == "task") {
      task(l);
    } else if (kind == "submitted") {
      l.needs(2);
      began_ = l.number(0);
      if (const uint64_t lost = l.number(1))
        throw std::runtime_error(std::to_string(lost) + " tasks did not fit into the record: raise the setting trace_events, or "
                                 "start it later by consort_report_begin()");
    } else if (kind == "run") {
      l.needs(8);
      runs_.push_back({l.index(0, workers_.size()), l.index(3, kMost), l.number(1), l.number(2), l.hex(4)});
      if (runs_.back().t1 < runs_.back().t0) l.refuse("it ends before it begins");
    } else if (kind == "end") {
      l.needs(1);
      lost_ = l.number(0);
      ended_ = true;
    } else if (kind != "clock" && kind != "scheduler" && kind != "copy" && kind != "decision" && kind != "energy" && kind != "fetch" &&
               kind != "sleep" && kind != "evict" && kind != "used") {
      l.refuse("\"" + std::string(kind) + "\" is not a kind of line");
    }
  }

  void task(const Line &l) {
    if (!l.has(6)) l.needs(5);  // the sixth is the time of its submission
    const auto number = static_cast<uint32_t>(out_.problem.tasks.size());
    Task t{l.hex(0), l.index(1, kinds_.size()), static_cast<int32_t>(l.maybe_less(2)), {}, {}, {}};
    if (!by_name_.try_emplace(t.id, number).second) l.refuse("two tasks have the same id");
    order_.begin(number);
    l.each(3, [&](std::string_view use) {
      const char how = use.empty() ? 0 : use[0];
      if ((how != 'r' && how != 'w' && how != 'u' && how != 'c') || !order_.use(l.whole(use.substr(1), 16), how, &t))
        l.refuse("\"" + std::string(use) + "\" is not a use of a datum");
    });
    l.each(4, [&](std::string_view name) {
      if (const auto before = by_name_.find(l.whole(name, 16)); before != by_name_.end() && before->second != number)
        t.after.push_back(before->second);
    });
    std::sort(t.after.begin(), t.after.end());
    t.after.erase(std::unique(t.after.begin(), t.after.end()), t.after.end());
    out_.problem.tasks.push_back(std::move(t));
    order_.end(&out_.problem);
  }

  void expect_room_for_kind() const {
    if ((kinds_.size() + 1) * workers_.size() > kMostTimes)
      throw std::runtime_error("the record has too many kinds times workers: " + std::to_string(kinds_.size() + 1) + " x " +
                               std::to_string(workers_.size()));
  }
  void sum_up();
  void make_groups();

  Record out_;
  bool begun_ = false, ended_ = false;
  uint64_t began_ = UINT64_MAX, lost_ = 0;
  uint32_t home_ = kNone;                        // space of the application's memory
  std::vector<Worker> workers_;
  std::vector<std::string> spaces_;
  std::map<uint32_t, std::string> codelets_;
  struct Way { uint32_t from, to; double bytes_per_ns; };
  std::vector<Way> links_;
  std::vector<KindLine> kinds_;
  std::vector<Run> runs_;
  std::unordered_map<uint64_t, uint32_t> by_name_;
  std::vector<uint32_t> group_of_;               // by worker
  Order order_;
};

void Reader::sum_up() {
  Problem &p = out_.problem;
  out_.graph = !p.tasks.empty();
  // For kinds without a known time on a class of units, uses the mean measured time of this run.
  struct Mean { double sum = 0; uint64_t n = 0; };
  std::map<std::pair<uint32_t, std::string>, Mean> measured;
  std::map<uint32_t, uint32_t> strangers;        // kinds of tasks without a submission record, by codelet
  std::vector<std::pair<uint32_t, uint32_t>> ran;  // kind, worker
  uint64_t last = 0;
  std::vector<bool> seen(p.tasks.size());
  for (const Run &r : runs_) {
    began_ = std::min(began_, r.t0);
    last = std::max(last, r.t1);
    uint32_t kind;
    if (const auto at = by_name_.find(r.task); at != by_name_.end()) {
      kind = p.tasks[at->second].kind;
      p.tasks[at->second].where = workers_[r.worker].name;
      seen[at->second] = true;
    } else {
      const auto [stranger, fresh] = strangers.try_emplace(r.codelet, static_cast<uint32_t>(kinds_.size()));
      if (fresh) {
        const auto name = codelets_.find(r.codelet);
        expect_room_for_kind();
        kinds_.push_back({name == codelets_.end() ? "codelet " + std::to_string(r.codelet) : name->second, r.codelet,
                          std::vector<double>(workers_.size(), -1)});
        p.kinds.push_back({kinds_.back().name, 0, {}, false});
      }
      kind = stranger->second;
    }
    ran.emplace_back(kind, r.worker);
    Mean &m = measured[{kind, workers_[r.worker].klass}];
    m.sum += static_cast<double>(r.t1 - r.t0);
    ++m.n;
  }
  if (!strangers.empty() && out_.graph)
    out_.notes.push_back("some tasks came from recordings: they count without their predecessors");
  uint64_t idle = 0;
  for (size_t t = 0; t < p.tasks.size(); ++t) {
    if (!seen[t] && !lost_ && !p.kinds[p.tasks[t].kind].empty) {  // cancelled, or not run
      ++idle;
      p.tasks[t].kind = kNone;
    } else {
      ++p.kinds[p.tasks[t].kind].count;
    }
  }
  if (idle) {
    out_.notes.push_back(std::to_string(idle) + " tasks did not run and do not count");
    for (Task &t : p.tasks)
      if (t.kind == kNone) t.kind = static_cast<uint32_t>(p.kinds.size());
    p.kinds.push_back({"none", idle, {}, true});
    kinds_.push_back({"-", kNone, std::vector<double>(workers_.size(), NAN)});
  }
  for (const auto &[kind, worker] : ran)
    if (kinds_[kind].codelet != kNone) ++p.kinds[kind].count;  // of a task without a submission record
  std::string guessed;
  for (uint32_t k = 0; k < kinds_.size(); ++k) {
    std::string unknown;
    for (uint32_t w = 0; w < workers_.size(); ++w) {
      double &ns = kinds_[k].ns[w];
      if (!(ns < 0)) continue;
      const auto m = measured.find({k, workers_[w].klass});
      ns = m == measured.end() ? NAN : m->second.sum / static_cast<double>(m->second.n);
      if (std::isnan(ns) && unknown.find(workers_[w].klass) == unknown.npos)
        unknown += (unknown.empty() ? "" : ", ") + workers_[w].klass;
    }
    if (!unknown.empty() && p.kinds[k].count)
      guessed += (guessed.empty() ? "" : "; ") + p.kinds[k].name + " on " + unknown;
  }
  if (!guessed.empty())
    out_.notes.push_back("no time is known of " + guessed + ": the bound holds for runs that do not run it there");
  make_groups();
  out_.ran.assign(kinds_.size(), std::vector<uint64_t>(p.groups.size()));
  for (const auto &[kind, worker] : ran) ++out_.ran[kind][group_of_[worker]];
  out_.took_ns = last > began_ ? static_cast<double>(last - began_) : 0;
}

// Groups workers of one class with equal times and like memories. This loses nothing: if a solution treats them differently, the mean
// over all permutations is a solution that does not.
void Reader::make_groups() {
  Problem &p = out_.problem;
  std::vector<uint32_t> place_of(spaces_.size(), kNone);
  std::vector<uint32_t> first;                   // first worker of each group
  std::unordered_map<std::string, uint32_t> group_like;  // by the properties that like workers share
  for (uint32_t w = 0; w < workers_.size(); ++w) {
    std::string like = workers_[w].klass + (workers_[w].space == home_ ? "\nhome" : "\n");
    for (const KindLine &k : kinds_) {
      const double ns = std::isnan(k.ns[w]) ? NAN : k.ns[w];
      like.append(reinterpret_cast<const char *>(&ns), sizeof ns);
    }
    const auto [at, fresh] = group_like.try_emplace(std::move(like), static_cast<uint32_t>(first.size()));
    if (fresh) first.push_back(w), p.groups.push_back({workers_[w].klass, 0, 0});
    group_of_.push_back(at->second);
    ++p.groups[at->second].units;
  }
  std::map<std::string, uint32_t> of_class;
  for (const Group &g : p.groups) ++of_class[g.name];
  for (uint32_t g = 0; g < p.groups.size(); ++g)
    if (of_class[p.groups[g].name] > 1) p.groups[g].name = workers_[first[g]].name;
  // Memories used by one group are one place; so are those of groups that share a memory.
  const auto root = [&](uint32_t s) {
    while (place_of[s] != kNone && place_of[s] != s) s = place_of[s];
    return s;
  };
  if (!spaces_.empty()) {
    std::vector<uint32_t> space_of(p.groups.size(), kNone);
    for (uint32_t w = 0; w < workers_.size(); ++w) {
      uint32_t &s = space_of[group_of_[w]];
      if (s == kNone) s = workers_[w].space;
      else if (root(s) != root(workers_[w].space)) place_of[root(workers_[w].space)] = root(s);
    }
    std::vector<uint32_t> number(spaces_.size(), kNone), place(spaces_.size());
    for (uint32_t s = 0; s < spaces_.size(); ++s) {
      uint32_t &n = number[root(s)];
      if (n == kNone) n = static_cast<uint32_t>(p.places.size()), p.places.push_back({spaces_[root(s)], 0});
      place[s] = n;
    }
    for (uint32_t g = 0; g < p.groups.size(); ++g) p.groups[g].place = place[space_of[g]];
    std::vector<bool> unknown(p.places.size());
    for (const Way &way : links_) {
      if (place[way.from] == place[way.to]) continue;
      p.places[place[way.to]].bytes_per_ns += way.bytes_per_ns;
      if (!(way.bytes_per_ns > 0)) unknown[place[way.to]] = true;
    }
    for (uint32_t i = 0; i < p.places.size(); ++i)
      if (unknown[i]) p.places[i].bytes_per_ns = 0;
    for (Version &v : p.versions)
      if (v.place != kNone) v.place = place[v.place];
  }
  for (uint32_t k = 0; k < kinds_.size(); ++k) {
    p.kinds[k].ns.assign(p.groups.size(), NAN);
    for (uint32_t g = 0; g < p.groups.size(); ++g) p.kinds[k].ns[g] = kinds_[k].ns[first[g]];
  }
}

}  // namespace

Record read_record(const char *text, size_t bytes) { return Reader().read({text, bytes}); }

std::string dot_of(const Problem &p) {
  std::string text = "digraph tasks {\n  node [shape=box, style=filled, fillcolor=white];\n";
  std::map<std::string, size_t> colours;
  static constexpr const char *kColours[] = {"#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#c49c94", "#f7b6d2", "#dbdb8d"};
  for (size_t t = 0; t < p.tasks.size(); ++t) {
    const Task &task = p.tasks[t];
    std::string name;
    for (const char c : p.kinds[task.kind].empty ? std::string("(step)") : p.kinds[task.kind].name)
      name += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    text += "  t" + std::to_string(t) + " [label=\"" + name + (task.priority ? "\\npriority " + std::to_string(task.priority) : "");
    if (!task.where.empty()) {
      const size_t colour = colours.try_emplace(task.where, colours.size()).first->second;
      text += "\\n" + task.where + "\", fillcolor=\"" + kColours[colour % (sizeof kColours / sizeof *kColours)];
    }
    text += "\"];\n";
  }
  for (size_t t = 0; t < p.tasks.size(); ++t)
    for (const uint32_t before : p.tasks[t].after) text += "  t" + std::to_string(before) + " -> t" + std::to_string(t) + ";\n";
  return text + "}\n";
}

}  // namespace bound
