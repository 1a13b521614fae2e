// page.cpp — a report as one HTML file: the page's own files, the object of --json, and the events as columns of numbers.
//
// A column is a list of unsigned numbers, seven bits a byte, lowest first, in base64: most numbers are differences, and
// take one to three bytes. page/columns.js reads them.
#include <algorithm>
#include <stdexcept>

#include "report.hpp"

namespace tool {
namespace {

class Column {
 public:
  void add(uint64_t n) {
    for (; n >= 128; n >>= 7) bytes_ += static_cast<char>(n | 128);
    bytes_ += static_cast<char>(n);
    ++count_;
  }
  void add_signed(int64_t n) { add((static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63)); }
  void add_after(uint64_t n) {         // rising numbers
    add(n - last_);
    last_ = n;
  }
  void add_near(uint64_t n) {          // numbers close to the one before
    add_signed(static_cast<int64_t>(n - last_));
    last_ = n;
  }
  std::string html(const char *id) const {
    static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text = "<script type=\"text/plain\" id=\"c-" + std::string(id) + "\" data-n=\"" + std::to_string(count_) + "\">";
    text.reserve(text.size() + bytes_.size() * 4 / 3 + 64);
    for (size_t i = 0; i < bytes_.size(); i += 3) {
      uint32_t three = 0;
      for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < bytes_.size() ? static_cast<unsigned char>(bytes_[i + k]) : 0u);
      for (size_t k = 0; k < 4; ++k) text += i + k <= bytes_.size() ? kLetters[three >> (18 - 6 * k) & 63] : '=';
    }
    return text + "</script>\n";
  }

 private:
  std::string bytes_;
  size_t count_ = 0;
  uint64_t last_ = 0;
};

std::string run_columns(const Analysis &a) {
  const Trace &t = a.trace;
  Column t0, took, worker, codelet, failed, status, expected, id, submitted, ready, fetch, priority;
  uint64_t first = t.begin;
  bool priorities = false;
  for (const Trace::Task &one : t.tasks) {
    if (one.at) first = std::min(first, one.at);
    priorities |= one.priority != 0;
  }
  for (uint32_t i = 0; i < t.runs.size(); ++i) {
    const Trace::Run &r = t.runs[i];
    const uint32_t task = a.history.task_of[i];
    t0.add_after(r.t0 - t.begin);
    took.add(r.t1 - r.t0);
    worker.add(r.worker);
    codelet.add(r.codelet);
    if (r.status < 0) failed.add_after(i), status.add(static_cast<uint64_t>(-static_cast<int64_t>(r.status)));
    expected.add(r.expected < 0 ? 0 : static_cast<uint64_t>(r.expected) + 1);
    id.add_near(r.task);
    // Submissions count from a time before the first; the other moments backwards from the begin; 0: unknown.
    const bool known = task != kNoIndex && t.tasks[task].at && t.tasks[task].at <= r.t0;
    submitted.add_near(known ? t.tasks[task].at - first + 1 : 0);
    ready.add(task != kNoIndex ? r.t0 - a.history.ready[task] + 1 : 0);
    fetch.add(a.history.fetch_from[i] ? r.t0 - a.history.fetch_from[i] + 1 : 0);
    if (priorities) priority.add_signed(task != kNoIndex ? t.tasks[task].priority : 0);
  }
  Column origin;
  origin.add(t.begin - first);
  return origin.html("origin") + status.html("status") + t0.html("t0") + took.html("took") + worker.html("worker") + codelet.html("codelet") + failed.html("failed") + expected.html("expected") +
         id.html("id") + submitted.html("submitted") + ready.html("ready") + fetch.html("fetch") + priority.html("priority");
}

// Predecessors of each run, as differences of run numbers, and the data that it used.
std::string graph_columns(const Analysis &a) {
  const Trace &t = a.trace;
  const History &h = a.history;
  Column nbefore, before, nuses, uses, bytes, ids;
  std::unordered_map<uint64_t, uint32_t> number;
  for (uint32_t i = 0; i < t.data.size(); ++i) number.emplace(t.data[i].id, i), bytes.add(t.data[i].bytes), ids.add_near(t.data[i].id);
  std::vector<uint32_t> found;
  const auto collect = [&](auto &&self, uint32_t task, int depth) -> void {
    for (const uint32_t *p = h.before.begin(task); p != h.before.end(task); ++p) {
      if (h.run_of[*p] != kNoIndex) found.push_back(h.run_of[*p]);
      else if (depth) self(self, *p, depth - 1);  // a task without a body
    }
  };
  for (uint32_t r = 0; r < t.runs.size(); ++r) {
    const uint32_t task = h.task_of[r];
    found.clear();
    if (task != kNoIndex) collect(collect, task, 2);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    nbefore.add(found.size());
    for (const uint32_t p : found) before.add_signed(static_cast<int64_t>(r) - static_cast<int64_t>(p));
    const uint32_t first = task == kNoIndex ? 0 : task ? t.tasks[task - 1].uses : 0, last = task == kNoIndex ? 0 : t.tasks[task].uses;
    uint32_t n = 0;
    for (uint32_t u = first; u < last; ++u)
      if (const auto at = number.find(t.uses[u].datum); at != number.end()) uses.add(at->second * uint64_t{4} + std::string_view("rcuw").find(t.uses[u].how)), ++n;
    nuses.add(n);
  }
  return nbefore.html("nbefore") + before.html("before") + nuses.html("nuses") + uses.html("uses") + bytes.html("databytes") + ids.html("dataids");
}

std::string copy_columns(const Analysis &a) {
  const Trace &t = a.trace;
  Column t0, took, link, bytes, datum, why, failed;
  for (const Trace::Copy &c : t.copies) {
    size_t l = 0;
    while (l < a.summary.links.size() && (a.summary.links[l].from != c.from || a.summary.links[l].to != c.to)) ++l;
    t0.add_after(c.t0 - t.begin);
    took.add(c.t1 - c.t0);
    link.add(l);
    bytes.add(c.bytes);
    datum.add_near(c.datum);
    why.add(c.why == 'd' ? 0 : c.why == 'p' ? 1 : c.why == 's' ? 2 : 3);
    if (c.status < 0) failed.add_after(static_cast<uint64_t>(&c - t.copies.data()));
  }
  return t0.html("copyt0") + took.html("copytook") + link.html("copylink") + bytes.html("copybytes") + datum.html("copydatum") + why.html("copywhy") +
         failed.html("copyfailed");
}

std::string path_columns(const Analysis &a) {
  Column runs, causes, chain;
  for (const PathStep &s : a.path.steps) runs.add_near(s.run), causes.add(static_cast<uint64_t>(s.cause));
  for (const uint32_t r : a.path.chain) chain.add_near(r);
  return runs.html("pathrun") + causes.html("pathcause") + chain.html("chain");
}

// Idle times that can be seen: the shortest ones are left out.
std::string idle_columns(const Analysis &a) {
  constexpr double kPieces = 20000;
  constexpr size_t kMost = 400000;
  const double least = static_cast<double>(a.trace.end - a.trace.begin) / kPieces;
  Column worker, t0, took, why;
  size_t n = 0;
  for (const Gap &g : a.idle.gaps) {
    if (static_cast<double>(g.t1 - g.t0) < least || n == kMost) continue;
    worker.add(g.worker), t0.add_near(g.t0 - a.trace.begin), took.add(g.t1 - g.t0), why.add(static_cast<uint64_t>(g.why));
    ++n;
  }
  return worker.html("idleworker") + t0.html("idlet0") + took.html("idletook") + why.html("idlewhy");
}

using Curve = std::vector<std::pair<uint64_t, uint64_t>>;

// At most some thousand points: the highest of each piece of time.
std::string curve_columns(const std::string &name, const Curve &curve, uint64_t begin, uint64_t end) {
  constexpr uint64_t kPieces = 4000;
  const uint64_t piece = std::max<uint64_t>(1, (end - begin) / kPieces);
  Column at, value;
  for (size_t i = 0; i < curve.size();) {
    const uint64_t when = std::clamp(curve[i].first, begin, end) - begin, number = when / piece;
    uint64_t most = curve[i].second, last = most;
    size_t n = 0;
    for (; i < curve.size() && (std::clamp(curve[i].first, begin, end) - begin) / piece == number; ++i, ++n) most = std::max(most, curve[i].second), last = curve[i].second;
    at.add_after(when), value.add_near(most);
    if (n > 1 && last != most) at.add_after(std::min(number * piece + piece - 1, end - begin)), value.add_near(last);
  }
  return at.html((name + "t").c_str()) + value.html((name + "v").c_str());
}

std::string curves(const Analysis &a) {
  const Trace &t = a.trace;
  const Curve ready(a.idle.ready_curve.begin(), a.idle.ready_curve.end()), pending(a.idle.pending_curve.begin(), a.idle.pending_curve.end());
  std::string all = curve_columns("ready", ready, t.begin, t.end) + curve_columns("pending", pending, t.begin, t.end);
  for (size_t i = 0; i < a.summary.memories.size(); ++i) {
    Curve use;
    for (const Trace::MemoryUse &u : t.memory)
      if (u.space == a.summary.memories[i].space) use.push_back({u.at, u.bytes});
    all += curve_columns("memory" + std::to_string(i), use, t.begin, t.end);
  }
  Column at, space;
  for (const Trace::Eviction &e : t.evictions) at.add_after(std::clamp(e.at, t.begin, t.end) - t.begin), space.add(e.space);
  return all + at.html("evictt") + space.html("evictspace");
}

// In an element of the page no text of a trace may end it: "<" is written as an escape of JSON.
std::string inside(const Json &json) {
  std::string safe;
  for (const char c : text_of(json, -1)) safe += c == '<' ? "\\u003c" : std::string(1, c);
  return safe;
}

void put_in(std::string *page, const std::string &mark, const std::string &text) {
  const size_t at = page->find(mark);
  if (at == page->npos) throw std::runtime_error("the page of the report has no place for " + mark);
  page->replace(at, mark.size(), text);
}

}  // namespace

std::string report_page(const Analysis &a, const RunFindings &findings, const Json &bound, const std::string &name) {
  Json run = report_json(a, findings, bound);
  run["name"] = name.substr(name.find_last_of('/') + 1);
  run["codelet_names"] = a.trace.codelets;
  run["space_names"] = a.trace.spaces;
  run["submissions"] = a.history.submissions;
  std::string page = kPageHtml;
  put_in(&page, "/*CSS*/", kPageCss);
  put_in(&page, "<!--DATA-->", "<script type=\"application/json\" id=\"run\">" + inside(run) + "</script>\n" + run_columns(a) + graph_columns(a) +
                                   copy_columns(a) + path_columns(a) + idle_columns(a) + curves(a));
  put_in(&page, "/*SCRIPT*/", kPageScript);
  return page;
}

}  // namespace tool
