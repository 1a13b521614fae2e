// trace_file.cpp — parser of a trace's text: one line per item, fields separated by tabs (written by kernel/observe/tracer.cpp).
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "plain_file.hpp"
#include "trace.hpp"

namespace tool {
namespace {

constexpr uint32_t kMostNames = 1 << 20;

class Line {
 public:
  Line(const std::string &path, size_t number, const std::string &text) : where_(path + ":" + std::to_string(number)) {
    for (size_t at = 0;;) {
      const size_t tab = text.find('\t', at);
      fields_.push_back(text.substr(at, tab - at));
      if (tab == text.npos) break;
      at = tab + 1;
    }
  }
  const std::string &kind() const { return fields_[0]; }
  [[noreturn]] void refuse(const std::string &what) const { throw std::runtime_error(where_ + ": " + what); }
  void needs(size_t n) const {
    if (fields_.size() != n + 1) refuse("a line \"" + kind() + "\" has " + std::to_string(n) + " fields, this line " + std::to_string(fields_.size() - 1));
  }
  const std::string &text(size_t i) const { return fields_[i + 1]; }
  uint64_t number(size_t i, int base = 10, uint64_t below = UINT64_MAX) const {
    const std::string &s = text(i);
    char *end = nullptr;
    const uint64_t n = std::strtoull(s.c_str(), &end, base);
    if (s.empty() || *end || s[0] == '-' || n >= below) refuse("\"" + s + "\" is not a valid number here");
    return n;
  }
  uint32_t index(size_t i, size_t below) const { return static_cast<uint32_t>(number(i, 10, below)); }
  int64_t whole(size_t i) const {
    char *end = nullptr;
    const int64_t n = std::strtoll(text(i).c_str(), &end, 10);
    if (text(i).empty() || *end) refuse("\"" + text(i) + "\" is not a number");
    return n;
  }

 private:
  const std::string where_;
  std::vector<std::string> fields_;
};

std::string &name_at(std::vector<std::string> &names, uint32_t i) {
  if (names.size() <= i) names.resize(i + 1);
  return names[i];
}

}  // namespace

Trace::Trace(const std::string &path) {
  std::istringstream in(read_plain(path, kLargestTrace));
  std::string text;
  std::getline(in, text);
  if (text != "consort trace 1")
    throw std::runtime_error(path + ": not a trace: the setting trace = \"FILE\" of a runtime writes one when it stops");
  bool whole = false;
  for (size_t number = 2; std::getline(in, text); ++number) {
    const Line l(path, number, text);
    if (whole) l.refuse("there is text behind the end");
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
    } else if (l.kind() == "run") {
      l.needs(8);
      runs.push_back({l.index(0, workers.size()), l.number(1), l.number(2), l.index(3, kMostNames), l.number(4, 16),
                      l.index(5, kMostNames), l.whole(6), static_cast<int32_t>(l.whole(7))});
      if (runs.back().t1 < runs.back().t0) l.refuse("it ends before it begins");
    } else if (l.kind() == "copy") {
      l.needs(7);
      copies.push_back({l.index(0, spaces.size()), l.index(1, spaces.size()), l.number(2), l.number(3), l.number(4),
                        l.number(5, 16), static_cast<int32_t>(l.whole(6))});
      if (copies.back().t1 < copies.back().t0) l.refuse("it ends before it begins");
    } else if (l.kind() == "decision") {
      l.needs(5);
      decisions.push_back({l.number(0), l.number(1, 16), l.index(2, workers.size()), std::strtod(l.text(3).c_str(), nullptr), l.number(4)});
    } else if (l.kind() == "task") {
      l.needs(5);
      kind_of[l.number(0, 16)] = l.index(1, kMostNames);
    } else if (l.kind() == "energy") {
      l.needs(3);
      energy[{l.index(0, kMostNames), l.index(1, workers.size())}] = l.number(2);
    } else if (l.kind() == "home" || l.kind() == "at" || l.kind() == "link" || l.kind() == "kind" || l.kind() == "time" || l.kind() == "datum" ||
               l.kind() == "submitted") {
      continue;  // graph records are for reports
    } else if (l.kind() == "end") {
      l.needs(1);
      lost = l.number(0);
      whole = true;
    } else {
      l.refuse("\"" + l.kind() + "\" is not a kind of line");
    }
  }
  if (!whole) throw std::runtime_error(path + ": it is truncated");
  std::sort(runs.begin(), runs.end(), [](const Run &a, const Run &b) {
    return std::tie(a.t0, a.t1, a.task, a.worker) < std::tie(b.t0, b.t1, b.task, b.worker);
  });
  std::sort(copies.begin(), copies.end(), [](const Copy &a, const Copy &b) {
    return std::tie(a.t0, a.t1, a.datum, a.from, a.to) < std::tie(b.t0, b.t1, b.datum, b.from, b.to);
  });
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
