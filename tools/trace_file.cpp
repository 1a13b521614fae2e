// trace_file.cpp — reads a trace (docs/trace.md): its lines are parsed here, its records taken in trace_records.cpp. The text
// form has lines alone.
//
// A trace may have millions of lines: no line and no field is copied, except names.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <tuple>

#include <consort/shared/trace_reader.hpp>

#include "plain_file.hpp"
#include "trace.hpp"

namespace tool {
namespace {

constexpr size_t kMostFields = 10;

std::string &name_at(std::vector<std::string> &names, uint32_t i) {
  if (names.size() <= i) names.resize(i + 1);
  return names[i];
}

}  // namespace

class Trace::Line {
 public:
  Line(const std::string &path, size_t number, std::string_view text) : path_(path), number_(number) {
    for (size_t at = 0;;) {
      const size_t tab = std::min(text.find('\t', at), text.size());
      if (n_ < kMostFields) fields_[n_] = text.substr(at, tab - at);
      ++n_;
      if (tab == text.size()) break;
      at = tab + 1;
    }
  }
  std::string_view kind() const { return fields_[0]; }
  [[noreturn]] void refuse(const std::string &what) const {
    throw std::runtime_error(path_ + ":" + std::to_string(number_) + ": " + what);
  }
  bool has(size_t n) const { return n_ == n + 1; }
  void needs(size_t n) const {
    if (!has(n))
      refuse("a line \"" + std::string(kind()) + "\" has " + std::to_string(n) + " fields, this line " + std::to_string(n_ - 1));
  }
  std::string_view view(size_t i) const { return fields_[i + 1]; }
  std::string text(size_t i) const { return std::string(view(i)); }
  uint64_t number(std::string_view s, int base = 10, uint64_t below = UINT64_MAX) const {
    uint64_t n = 0;
    const auto [end, problem] = std::from_chars(s.data(), s.data() + s.size(), n, base);
    if (problem != std::errc{} || end != s.data() + s.size() || n >= below) refuse("\"" + std::string(s) + "\" is not a valid number here");
    return n;
  }
  uint64_t number(size_t i, int base = 10) const { return number(view(i), base); }
  uint32_t index(size_t i, size_t below) const { return static_cast<uint32_t>(number(view(i), 10, below)); }
  int64_t whole(size_t i) const {
    const std::string_view s = view(i);
    int64_t n = 0;
    const auto [end, problem] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (problem != std::errc{} || end != s.data() + s.size()) refuse("\"" + std::string(s) + "\" is not a number");
    return n;
  }
  template <class F> void each(size_t i, F f) const {  // of a list with commas
    for (std::string_view s = view(i); !s.empty();) {
      const size_t comma = std::min(s.find(','), s.size());
      f(s.substr(0, comma));
      s.remove_prefix(std::min(comma + 1, s.size()));
    }
  }
  template <class Span> void expect_order(const Span &span) const {
    if (span.t1 < span.t0) refuse("it ends before it begins");
  }

 private:
  const std::string &path_;
  const size_t number_;
  size_t n_ = 0;
  std::string_view fields_[kMostFields];
};

bool Trace::take_event(const Line &l) {
  if (l.kind() == "run") {
    l.needs(8);
    runs.push_back({l.index(0, workers.size()), l.number(1), l.number(2), l.index(3, kMostNames), l.number(4, 16),
                    l.index(5, kMostNames), l.whole(6), static_cast<int32_t>(l.whole(7))});
    l.expect_order(runs.back());
  } else if (l.kind() == "copy") {
    if (!l.has(8)) l.needs(7);         // the eighth, its reason, is new in 0.2
    copies.push_back({l.index(0, spaces.size()), l.index(1, spaces.size()), l.number(2), l.number(3), l.number(4),
                      l.number(5, 16), static_cast<int32_t>(l.whole(6)), '?'});
    l.expect_order(copies.back());
    if (l.has(8)) {
      if (l.view(7) != "d" && l.view(7) != "p" && l.view(7) != "s") l.refuse("\"" + l.text(7) + "\" is not a reason of a copy");
      copies.back().why = l.view(7)[0];
    }
  } else if (l.kind() == "decision") {
    l.needs(5);
    decisions.push_back({l.number(0), l.number(1, 16), l.index(2, workers.size()), std::strtod(l.text(3).c_str(), nullptr), l.number(4)});
  } else if (l.kind() == "fetch") {
    l.needs(4);
    fetches.push_back({l.index(0, workers.size()), l.number(1), l.number(2), l.number(3, 16)});
    l.expect_order(fetches.back());
  } else if (l.kind() == "sleep") {
    l.needs(3);
    sleeps.push_back({l.index(0, workers.size()), l.number(1), l.number(2)});
    l.expect_order(sleeps.back());
  } else if (l.kind() == "evict") {
    l.needs(4);
    evictions.push_back({l.index(0, spaces.size()), l.number(1), l.number(2, 16), l.number(3)});
  } else if (l.kind() == "used") {
    l.needs(4);
    memory.push_back({l.index(0, spaces.size()), l.number(1), l.number(2), l.number(3)});
  } else {
    return false;
  }
  return true;
}

bool Trace::take_graph(const Line &l) {
  if (l.kind() == "task") {
    if (!l.has(6)) l.needs(5);         // the sixth, the time of its submission, is new in 0.2
    const uint32_t kind = l.index(1, kMostNames);
    l.each(3, [&](std::string_view use) {
      if (use.size() < 2 || std::string_view("rcuw").find(use[0]) == std::string_view::npos)
        l.refuse("\"" + std::string(use) + "\" is not a use of a datum");
      uses.push_back({l.number(use.substr(1), 16), use[0]});
    });
    l.each(4, [&](std::string_view id) { after.push_back(l.number(id, 16)); });
    tasks.push_back({l.number(0, 16), l.has(6) ? l.number(5) : 0, kind, static_cast<int32_t>(l.whole(2)),
                     static_cast<uint32_t>(uses.size()), static_cast<uint32_t>(after.size())});
    kind_of[tasks.back().id] = kind;
  } else if (l.kind() == "energy") {
    l.needs(3);
    energy[{l.index(0, kMostNames), l.index(1, workers.size())}] = l.number(2);
  } else if (l.kind() == "at") {
    l.needs(2);
    workers[l.index(0, workers.size())].space = static_cast<int32_t>(l.index(1, spaces.size()));
  } else if (l.kind() == "link") {
    l.needs(4);
    links.push_back({l.index(0, spaces.size()), l.index(1, spaces.size()), l.number(2), l.number(3)});
  } else if (l.kind() == "kind") {
    l.needs(4);
    if (l.index(0, kMostNames) != kinds.size()) l.refuse("kinds are numbered from 0");
    kinds.push_back({l.text(1), l.number(3)});
  } else if (l.kind() == "time") {
    l.needs(3);
    times.push_back({l.index(0, kinds.size()), l.index(1, workers.size()), l.whole(2)});
  } else if (l.kind() == "datum") {
    l.needs(4);
    data.push_back({l.number(0, 16), l.number(1), l.whole(2), l.number(3, 16)});
  } else if (l.kind() == "submitted") {
    l.needs(2);
    unlogged = l.number(1);
  } else {
    return l.kind() == "home";
  }
  return true;
}

void Trace::take(const Line &l) {
  if (take_event(l) || take_graph(l)) return;
  if (l.kind() == "clock") {
    l.needs(1);
    clock = l.text(0);
  } else if (l.kind() == "scheduler") {
    l.needs(1);
    scheduler = l.text(0);
  } else if (l.kind() == "worker") {
    l.needs(3);
    if (l.index(0, kMostNames) != workers.size()) l.refuse("workers are numbered from 0");
    workers.push_back({l.text(1), l.text(2)});
  } else if (l.kind() == "space") {
    l.needs(2);
    name_at(spaces, l.index(0, kMostNames)) = l.text(1);
  } else if (l.kind() == "codelet") {
    l.needs(2);
    name_at(codelets, l.index(0, kMostNames)) = l.text(1);
  } else {
    l.refuse("\"" + std::string(l.kind()) + "\" is not a kind of line");
  }
}

Trace::Trace(const std::string &path) {
  const std::string all = read_plain(path, kLargestTrace);
  if (consort::shared::TraceReader::is_binary(all)) read_records(path, all);
  else read_text(path, all);
  finish();
}

void Trace::read_text(const std::string &path, std::string_view rest) {
  const auto next = [&] {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  };
  if (next() != "consort trace 1")
    throw std::runtime_error(path + ": not a trace: the setting trace = \"FILE\" of a runtime writes one");
  bool whole = false;
  for (size_t number = 2; !rest.empty(); ++number) {
    const Line l(path, number, next());
    if (whole) l.refuse("there is text behind the end");
    if (l.kind() == "end") {
      l.needs(1);
      lost = l.number(0);
      whole = true;
    } else {
      take(l);
    }
  }
  if (!whole) throw std::runtime_error(path + ": it is truncated");
}

void Trace::read_records(const std::string &path, std::string_view all) {
  consort::shared::TraceReader reader;
  if (!reader.open(all)) throw std::runtime_error(path + ": " + reader.why());
  cut = reader.cut();
  lost = reader.lost();
  size_t number = 0;                   // the lines stand between records, and are counted by themselves
  reader.each_line([&](std::string_view text) {
    const Line l(path, ++number, text);
    if (l.kind() != "record" && l.kind() != "ticks") take(l);
  });
  std::unordered_map<uint64_t, uint64_t> ids;  // of data, by number
  reader.each_record([&](const Record &r) { take_fact(path, r, &ids); });
  reader.each_record([&](const Record &r) {
    if (!take_record(path, r)) take_task(path, r, ids);
  });
}

void Trace::finish() {
  std::sort(runs.begin(), runs.end(), [](const Run &a, const Run &b) {
    return std::tie(a.t0, a.t1, a.task, a.worker) < std::tie(b.t0, b.t1, b.task, b.worker);
  });
  std::sort(copies.begin(), copies.end(), [](const Copy &a, const Copy &b) {
    return std::tie(a.t0, a.t1, a.datum, a.from, a.to) < std::tie(b.t0, b.t1, b.datum, b.from, b.to);
  });
  std::sort(fetches.begin(), fetches.end(), [](const Fetch &a, const Fetch &b) { return std::tie(a.t0, a.worker, a.task) < std::tie(b.t0, b.worker, b.task); });
  std::sort(sleeps.begin(), sleeps.end(), [](const Sleep &a, const Sleep &b) { return std::tie(a.t0, a.worker) < std::tie(b.t0, b.worker); });
  std::stable_sort(evictions.begin(), evictions.end(), [](const Eviction &a, const Eviction &b) { return a.at < b.at; });
  std::stable_sort(memory.begin(), memory.end(), [](const MemoryUse &a, const MemoryUse &b) { return a.at < b.at; });
  begin = UINT64_MAX;
  const auto count = [&](const auto &all) {
    for (const auto &one : all) begin = std::min(begin, one.t0), end = std::max(end, one.t1);
  };
  count(runs);
  count(copies);
  if (begin > end) begin = end;
  for (const Run &r : runs) {
    std::string &name = name_at(codelets, r.codelet);
    if (name.empty()) name = "codelet " + std::to_string(r.codelet);
  }
}

}  // namespace tool
