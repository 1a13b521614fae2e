// model_plot.cpp — `consort model plot`: a drawing of time or energy.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "drawing.hpp"
#include "json.hpp"
#include "models.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

std::string decimal(double x) {
  char text[48];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

struct Scale {  // powers of ten
  double low = 1e300, high = 0;
  void take(double x) {
    if (x > 0) low = std::min(low, x), high = std::max(high, x);
  }
  void round() {
    if (high <= 0) low = high = 1;
    low = std::pow(10, std::floor(std::log10(low)));
    high = std::pow(10, std::ceil(std::log10(high)));
    if (high <= low) high = low * 10;
  }
  double at(double x, double from, double to) const {
    return from + (to - from) * (std::log10(x) - std::log10(low)) / (std::log10(high) - std::log10(low));
  }
};

std::string drawing(const File &f, uint32_t fit) {
  constexpr double kLeft = 80, kRight = 700, kTop = 40, kBottom = 420;
  static constexpr const char *kColours[] = {"#1b6ca8", "#c0392b", "#2e8b57", "#b8860b", "#6a3d9a", "#444444"};
  Scale x, y;
  for (const Row &r : f.rows) {
    x.take(static_cast<double>(r.bytes));
    y.take(std::max(r.median - r.spread, r.median / 10));
    y.take(r.median + r.spread);
  }
  x.round();
  y.round();
  std::string s = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"960\" height=\"480\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"960\" height=\"480\" fill=\"white\"/>\n";
  const auto text = [&](double at_x, double at_y, const std::string &t, const char *more = "") {
    s += "<text x=\"" + decimal(at_x) + "\" y=\"" + decimal(at_y) + "\" " + more + ">" + escaped(t) + "</text>\n";
  };
  const auto line = [&](double x1, double y1, double x2, double y2, const char *colour) {
    s += "<line x1=\"" + decimal(x1) + "\" y1=\"" + decimal(y1) + "\" x2=\"" + decimal(x2) + "\" y2=\"" + decimal(y2) +
         "\" stroke=\"" + colour + "\"/>\n";
  };
  text(kLeft, 24, f.name + ": " + model_unit(f.what) + " by bytes of data", "font-size=\"15\"");
  for (double v = x.low; v <= x.high * 1.01; v *= 10) {
    line(x.at(v, kLeft, kRight), kTop, x.at(v, kLeft, kRight), kBottom, "#dddddd");
    text(x.at(v, kLeft, kRight), kBottom + 18, bytes(static_cast<uint64_t>(v)), "text-anchor=\"middle\"");
  }
  for (double v = y.low; v <= y.high * 1.01; v *= 10) {
    line(kLeft, y.at(v, kBottom, kTop), kRight, y.at(v, kBottom, kTop), "#dddddd");
    text(kLeft - 8, y.at(v, kBottom, kTop) + 4, model_value(f.what, v), "text-anchor=\"end\"");
  }
  std::vector<std::string> series;
  for (const Row &r : f.rows) {
    const std::string name = (r.arch == "*" ? r.klass : r.arch) + ", " + r.impl;
    const auto i = static_cast<size_t>(std::find(series.begin(), series.end(), name) - series.begin());
    const char *colour = kColours[i % std::size(kColours)];
    if (i == series.size()) {
      series.push_back(name);
      s += "<circle cx=\"720\" cy=\"" + decimal(kTop + 18.0 * static_cast<double>(i)) + "\" r=\"4\" fill=\"" + colour + "\"/>\n";
      text(730, kTop + 4 + 18.0 * static_cast<double>(i), name);
    }
    const double at = r.bytes ? x.at(static_cast<double>(r.bytes), kLeft, kRight) : kLeft;
    line(at, y.at(std::max(r.median - r.spread, r.median / 10), kBottom, kTop), at, y.at(r.median + r.spread, kBottom, kTop), colour);
    s += "<circle cx=\"" + decimal(at) + "\" cy=\"" + decimal(y.at(r.median, kBottom, kTop)) + "\" r=\"4\" fill=\"" + colour + "\"/>\n";
  }
  for (const Curve &c : fit ? curves_of(f, fit) : std::vector<Curve>()) {
    const auto i = static_cast<size_t>(std::find(series.begin(), series.end(), c.arch + ", " + c.impl) - series.begin());
    std::string path;
    constexpr int kSteps = 60;
    for (int step = 0; step <= kSteps; ++step) {
      const double size = x.low * std::pow(x.high / x.low, step / double{kSteps}), told = consort_curve_at(&c.curve, size);
      if (told >= y.low && told <= y.high)
        path += (path.empty() ? "M" : " L") + decimal(x.at(size, kLeft, kRight)) + " " + decimal(y.at(told, kBottom, kTop));
    }
    if (!path.empty()) s += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + kColours[i % std::size(kColours)] + "\"/>\n";
  }
  return s + "</svg>\n";
}

}  // namespace

int run_model_plot(Settings &settings, const std::string &name, const std::string &out, uint32_t fit, bool json) {
  std::vector<File> files;
  if (!find_models(settings, name, &files)) return 1;
  const auto whole = std::find_if(files.begin(), files.end(), [](const File &f) { return !f.rows.empty(); });
  if (whole == files.end()) return complain("nothing was measured of \"" + name + "\"");
  write_drawing(out, drawing(*whole, fit));
  if (json) {
    Json all = document("model plot");
    all.update({{"name", name}, {"file", out}, {"sizes", whole->rows.size()}});
    return print(all), 0;
  }
  std::printf("%s: %zu sizes of \"%s\"\n", printable(out).c_str(), whole->rows.size(), printable(name).c_str());
  return 0;
}

}  // namespace tool
