// trace_svg.cpp — a trace as a drawing: a line for each worker, then one for each link; activity as boxes along time.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "drawing.hpp"
#include "trace.hpp"

namespace tool {
namespace {

constexpr double kLeft = 170, kWidth = 1340, kRow = 18, kTop = 40;
constexpr const char *kColours[] = {"#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2",
                                    "#9d755d", "#eeca3b", "#439894", "#d67195", "#83bcb6", "#7f7f7f"};

std::string position(double x) { return decimals(x, 2); }

class Drawing {
 public:
  explicit Drawing(const Trace &t) : t_(t), span_(std::max(1.0, static_cast<double>(t.end - t.begin))) {}

  std::string draw() {
    uint32_t row = 0;
    for (uint32_t w = 0; w < t_.workers.size(); ++w) {
      lane(row, t_.workers[w].name);
      double until = 0;
      for (const Trace::Run &r : t_.runs)
        if (r.worker == w) box(row, r.t0, r.t1, colour(r.codelet), told(r), &until);
      ++row;
    }
    std::map<std::pair<uint32_t, uint32_t>, std::vector<const Trace::Copy *>> links;
    for (const Trace::Copy &c : t_.copies) links[{c.from, c.to}].push_back(&c);
    for (const auto &[link, copies] : links) {
      lane(row, t_.spaces[link.first] + " > " + t_.spaces[link.second]);
      double until = 0;
      for (const Trace::Copy *c : copies) box(row, c->t0, c->t1, c->status < 0 ? "#000000" : "#bbbbbb", told(*c), &until);
      ++row;
    }
    legend();
    const double height = kTop + kRow * row + 40;
    axis(kTop + kRow * row);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + position(kLeft + kWidth + 20) + "\" height=\"" + position(height) +
           "\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" + s_ + "</svg>\n";
  }

 private:
  static const char *colour(uint32_t codelet) { return kColours[codelet % std::size(kColours)]; }
  static double y(uint32_t row) { return kTop + kRow * row; }
  double x(uint64_t at) const { return kLeft + kWidth * static_cast<double>(at - t_.begin) / span_; }

  void text(double at_x, double at_y, const std::string &t, const char *more = "") {
    s_ += "<text x=\"" + position(at_x) + "\" y=\"" + position(at_y) + "\" " + more + ">" + escaped(t) + "</text>\n";
  }
  void lane(uint32_t row, const std::string &name) {
    text(kLeft - 6, y(row) + 13, name, "text-anchor=\"end\"");
    s_ += "<rect x=\"" + position(kLeft) + "\" y=\"" + position(y(row) + 1) + "\" width=\"" + position(kWidth) + "\" height=\"" +
          position(kRow - 2) + "\" fill=\"#f2f2f2\"/>\n";
  }
  // until: end of the line's last box, so that boxes within one point are merged.
  void box(uint32_t row, uint64_t t0, uint64_t t1, const char *fill, const std::string &words, double *until) {
    const double from = x(t0), to = std::max(x(t1), from + 0.3);
    if (to < *until + 0.2) return;
    *until = std::max(*until, to);
    s_ += "<rect x=\"" + position(from) + "\" y=\"" + position(y(row) + 2) + "\" width=\"" + position(to - from) + "\" height=\"" +
          position(kRow - 4) + "\" fill=\"" + fill + "\"><title>" + escaped(words) + "</title></rect>\n";
  }
  std::string told(const Trace::Run &r) const {
    char line[160];
    std::snprintf(line, sizeof line, "%s, %.1f us from %.1f us", t_.codelet(r.codelet).c_str(), static_cast<double>(r.t1 - r.t0) / 1e3,
                  static_cast<double>(r.t0 - t_.begin) / 1e3);
    std::string words = line;
    if (r.expected >= 0) {
      std::snprintf(line, sizeof line, "; expected %.1f us", static_cast<double>(r.expected) / 1e3);
      words += line;
    }
    return r.status < 0 ? words + "; failed" : words;
  }
  std::string told(const Trace::Copy &c) const {
    char line[96];
    std::snprintf(line, sizeof line, "%llu bytes, %.1f us", static_cast<unsigned long long>(c.bytes), static_cast<double>(c.t1 - c.t0) / 1e3);
    return c.status < 0 ? std::string(line) + "; failed" : line;
  }
  void legend() {
    double at = kLeft;
    for (uint32_t i = 0; i < t_.codelets.size(); ++i) {
      if (t_.codelets[i].empty()) continue;
      s_ += "<rect x=\"" + position(at) + "\" y=\"14\" width=\"11\" height=\"11\" fill=\"" + colour(i) + "\"/>\n";
      text(at + 15, 24, t_.codelets[i]);
      at += 30 + 7.0 * static_cast<double>(t_.codelets[i].size());
    }
  }
  void axis(double at_y) {
    const double step = std::pow(10, std::floor(std::log10(span_ / 2)));
    const double every = span_ / step > 10 ? 2 * step : step;
    for (double at = 0; at <= span_; at += every) {
      const double px = kLeft + kWidth * at / span_;
      s_ += "<line x1=\"" + position(px) + "\" y1=\"" + position(kTop) + "\" x2=\"" + position(px) + "\" y2=\"" + position(at_y + 4) +
            "\" stroke=\"#cccccc\" stroke-width=\"0.5\"/>\n";
      char label[32];
      std::snprintf(label, sizeof label, "%g ms", at / 1e6);
      text(px, at_y + 17, label, "text-anchor=\"middle\"");
    }
  }

  const Trace &t_;
  const double span_;
  std::string s_;
};

}  // namespace

std::string trace_svg(const Trace &t) { return Drawing(t).draw(); }

}  // namespace tool
