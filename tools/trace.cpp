// trace.cpp — `consort trace show`: activity of workers, copies, quality of estimates.
#include "trace.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <map>

#include "commands.hpp"
#include "drawing.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

std::string time_text(double ns) {
  char text[48];
  const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
  std::snprintf(text, sizeof text, "%.4g %s", ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9, unit);
  return text;
}

std::string percent(double x) {
  char text[24];
  std::snprintf(text, sizeof text, "%.1f %%", x * 100);
  return text;
}

// A letter for each codelet: one of its name, if it is free.
std::vector<char> letters_of(const Trace &t) {
  std::string taken;
  std::vector<char> letters;
  for (const std::string &name : t.codelets) {
    char letter = 0;
    for (const std::string &from : {name, std::string("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")})
      for (const char c : from)
        if (!letter && std::isalnum(static_cast<unsigned char>(c)) && taken.find(c) == taken.npos) letter = c;
    taken += letter ? letter : '#';
    letters.push_back(letter ? letter : '#');
  }
  return letters;
}

// The codelet with the largest share of each column; a point for idle time.
std::string bar(const Trace &t, uint32_t worker, uint32_t width, const std::vector<char> &letters) {
  const double column = static_cast<double>(t.end - t.begin) / width;
  std::vector<std::map<uint32_t, double>> busy(width);
  for (const Trace::Run &r : t.runs) {
    if (r.worker != worker) continue;
    const double from = static_cast<double>(r.t0 - t.begin) / column, to = static_cast<double>(r.t1 - t.begin) / column;
    for (auto i = static_cast<uint32_t>(from); i < width && i <= to; ++i)
      busy[i][r.codelet] += std::max(0.0, std::min(to, i + 1.0) - std::max(from, double(i)));
  }
  std::string text;
  for (const auto &b : busy) {
    double sum = 0, most = 0;
    char c = '.';
    for (const auto &[codelet, share] : b) {
      sum += share;
      if (share > most) most = share, c = letters[codelet];
    }
    text += sum < 0.5 ? (sum > 0.05 ? ',' : '.') : c;
  }
  return text;
}

// Energy of a task's run by the models; NaN: unknown.
double joules(const Trace &t, const Trace::Run &r) {
  const auto kind = t.kind_of.find(r.task);
  const auto uj = kind == t.kind_of.end() ? t.energy.end() : t.energy.find({kind->second, r.worker});
  return uj == t.energy.end() ? NAN : static_cast<double>(uj->second) * 1e-6;
}

std::string joules_text(double j) {
  char text[32];
  std::snprintf(text, sizeof text, j < 1 ? "%.4g mJ" : "%.4g J", j < 1 ? j * 1e3 : j);
  return text;
}

// Energy of each worker's tasks, if there are energy models.
void show_energy(const Trace &t) {
  if (t.energy.empty()) return;
  std::vector<double> sum(t.workers.size());
  uint64_t unknown = 0;
  double all = 0;
  for (const Trace::Run &r : t.runs)
    if (const double j = joules(t, r); std::isnan(j)) ++unknown;
    else sum[r.worker] += j, all += j;
  Table table({"WORKER", "CONSUMED"});
  table.right(1);
  for (uint32_t w = 0; w < t.workers.size(); ++w)
    if (sum[w] > 0) table.add({t.workers[w].name, joules_text(sum[w])});
  table.add({"all", joules_text(all)});
  std::printf("\n");
  table.print();
  if (unknown) std::printf("(%llu tasks without an energy model)\n", static_cast<unsigned long long>(unknown));
}

void show_workers(const Trace &t, uint32_t width) {
  const auto letters = letters_of(t);
  const double span = std::max(1.0, static_cast<double>(t.end - t.begin));
  std::vector<double> busy(t.workers.size());
  std::vector<uint64_t> count(t.workers.size());
  for (const Trace::Run &r : t.runs) busy[r.worker] += static_cast<double>(r.t1 - r.t0), ++count[r.worker];
  Table table({"WORKER", "TASKS", "BUSY", t.end > t.begin ? "0 to " + time_text(span) : ""});
  table.right(1);
  table.right(2);
  for (uint32_t w = 0; w < t.workers.size(); ++w)
    table.add({t.workers[w].name, std::to_string(count[w]), percent(busy[w] / span), t.end > t.begin ? bar(t, w, width, letters) : ""});
  table.print();
  std::printf("\n");
  for (size_t i = 0; i < t.codelets.size(); ++i)
    if (!t.codelets[i].empty()) std::printf("%c %s   ", letters[i], printable(t.codelets[i]).c_str());
  std::printf(". idle   , partly\n");
}

// By codelet and class of unit: times, and their deviation from expected times.
void show_tasks(const Trace &t) {
  struct Of {
    uint64_t n = 0, known = 0, failed = 0;
    double sum = 0, off = 0;
  };
  std::map<std::pair<std::string, std::string>, Of> all;
  for (const Trace::Run &r : t.runs) {
    Of &o = all[{t.codelet(r.codelet), t.workers[r.worker].klass}];
    const auto took = static_cast<double>(r.t1 - r.t0);
    ++o.n;
    o.sum += took;
    o.failed += r.status < 0;
    if (r.expected >= 0 && took > 0) ++o.known, o.off += std::fabs(static_cast<double>(r.expected) - took) / took;
  }
  Table table({"CODELET", "UNITS", "TASKS", "MEAN", "ESTIMATES OFF BY", "FAILED"});
  for (const size_t c : {2, 3, 4, 5}) table.right(c);
  for (const auto &[key, o] : all)
    table.add({key.first, key.second, std::to_string(o.n), time_text(o.sum / static_cast<double>(o.n)),
               o.known ? percent(o.off / static_cast<double>(o.known)) : "", o.failed ? std::to_string(o.failed) : ""});
  if (!table.empty()) std::printf("\n"), table.print();
}

void show_copies(const Trace &t) {
  struct Of {
    uint64_t n = 0, bytes = 0;
    double busy = 0;
    uint64_t until = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Of> all;
  for (const Trace::Copy &c : t.copies) {  // by begin: overlapping copies count once
    Of &o = all[{c.from, c.to}];
    ++o.n;
    o.bytes += c.status < 0 ? 0 : c.bytes;
    const uint64_t from = std::max(c.t0, o.until);
    if (c.t1 > from) o.busy += static_cast<double>(c.t1 - from), o.until = c.t1;
  }
  const double span = std::max(1.0, static_cast<double>(t.end - t.begin));
  Table table({"FROM", "TO", "COPIES", "BYTES", "BUSY"});
  for (const size_t c : {2, 3, 4}) table.right(c);
  for (const auto &[key, o] : all)
    table.add({t.spaces[key.first], t.spaces[key.second], std::to_string(o.n), bytes(o.bytes), percent(o.busy / span)});
  if (!table.empty()) std::printf("\n"), table.print();
}

void show_decisions(const Trace &t) {
  if (t.decisions.empty()) return;
  std::map<uint64_t, const Trace::Decision *> last;  // a task may be placed more than once
  for (const Trace::Decision &d : t.decisions) last[d.task] = &d;
  uint64_t elsewhere = 0, ended = 0, known = 0;
  double late = 0;
  for (const Trace::Run &r : t.runs) {
    const auto d = last.find(r.task);
    if (d == last.end()) continue;
    ++ended;
    elsewhere += d->second->worker != r.worker;
    if (d->second->end) ++known, late += static_cast<double>(r.t1) - static_cast<double>(d->second->end);
  }
  std::printf("\n%zu decisions of %s; %llu of %llu tasks ran elsewhere", t.decisions.size(), printable(t.scheduler).c_str(),
              static_cast<unsigned long long>(elsewhere), static_cast<unsigned long long>(ended));
  if (known) {
    const double mean = late / static_cast<double>(known);
    std::printf("; they ended %s %s than it expected, on average", time_text(std::fabs(mean)).c_str(), mean < 0 ? "sooner" : "later");
  }
  std::printf("\n");
}

}  // namespace

Trace read_trace(const std::string &path) {
  Trace t(path);
  if (t.cut) warn(path + " has no end: its program was killed, or had no room for it. What follows its last whole record is missing");
  return t;
}

int run_trace_show(const std::string &path, const std::string &svg, uint32_t width, bool json) {
  const Trace t = [&] {
    const Progress progress("reading " + path);
    return read_trace(path);
  }();
  if (json) return std::puts(trace_json(t).c_str()), 0;
  if (!svg.empty()) {
    write_drawing(svg, trace_svg(t));
    std::printf("%s: %zu tasks and %zu copies\n", svg.c_str(), t.runs.size(), t.copies.size());
    return 0;
  }
  std::printf("%zu tasks, %zu copies in %s of %s time, scheduler %s\n\n", t.runs.size(), t.copies.size(),
              time_text(static_cast<double>(t.end - t.begin)).c_str(), printable(t.clock).c_str(), printable(t.scheduler).c_str());
  show_workers(t, width);
  show_tasks(t);
  show_energy(t);
  show_copies(t);
  show_decisions(t);
  if (t.lost)
    std::printf("\n%llu events were dropped: raise the setting trace_buffer, or trace_events with trace_mode = \"keep\"\n",
                static_cast<unsigned long long>(t.lost));
  return 0;
}

}  // namespace tool
