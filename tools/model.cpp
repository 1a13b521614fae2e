// model.cpp — `consort model`: what is kept of what tasks take, as tables and as a drawing.
#include <consort/model.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "commands.hpp"

namespace tool {
namespace {

struct Row {
  std::string klass, arch, impl;
  uint64_t footprint, bytes, count, outliers;
  double median, spread;
};
struct File {
  std::string path, machine, name, reason;
  uint32_t what;
  bool here;
  std::vector<Row> rows;
};

bool read_all(Settings &settings, std::vector<File> *out) {
  consort_settings s;
  if (!settings.resolve(&s)) return false;
  return consort_list_models(
             &s,
             [](void *user, const consort_model_file *f) {
               static_cast<std::vector<File> *>(user)->push_back(
                   {f->path, f->machine, f->name, f->reason, f->what, f->here != 0, {}});
             },
             [](void *user, const consort_model_row *r) {
               static_cast<std::vector<File> *>(user)->back().rows.push_back(
                   {r->klass, r->arch, r->impl, r->footprint, r->bytes, r->count, r->outliers, r->median, r->spread});
             },
             out) >= 0;
}

std::string number(double x, const char *format = "%.4g") {
  char text[48];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

std::string value(uint32_t what, double x) {
  if (what == CONSORT_MODEL_ENERGY) return x < 1e3 ? number(x) + " uJ" : x < 1e6 ? number(x / 1e3) + " mJ" : number(x / 1e6) + " J";
  return x < 1e3 ? number(x) + " ns" : x < 1e6 ? number(x / 1e3) + " us" : x < 1e9 ? number(x / 1e6) + " ms" : number(x / 1e9) + " s";
}

const char *unit_of(uint32_t what) { return what == CONSORT_MODEL_ENERGY ? "energy" : "time"; }

// Those of one name, of this machine first. None: says so.
bool find(Settings &settings, const std::string &name, std::vector<File> *out) {
  std::vector<File> all;
  if (!read_all(settings, &all)) return failed(), false;
  std::vector<std::string> names;
  for (File &f : all) {
    if (!f.reason.empty()) continue;
    names.push_back(f.name);
    if (f.name == name) out->push_back(std::move(f));
  }
  std::stable_sort(out->begin(), out->end(), [](const File &a, const File &b) { return a.here > b.here; });
  if (out->empty())
    std::fprintf(stderr, "consort: no model of \"%s\" is kept%s; consort model list shows those that are\n", name.c_str(),
                 did_you_mean(name, names).c_str());
  return !out->empty();
}

// What of a row is hard to believe; "": nothing.
std::string doubt(const Row &r) {
  if (r.count >= 10 && r.spread > r.median / 2) return "its measurements differ by more than half of their median";
  if (r.outliers * 4 > r.count) return "more than a quarter of its measurements were set apart";
  return "";
}

// -- the drawing ------------------------------------------------------------------------------------------------------

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

std::string escaped(const std::string &text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

std::string drawing(const File &f) {
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
    s += "<text x=\"" + number(at_x) + "\" y=\"" + number(at_y) + "\" " + more + ">" + escaped(t) + "</text>\n";
  };
  const auto line = [&](double x1, double y1, double x2, double y2, const char *colour) {
    s += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) +
         "\" stroke=\"" + colour + "\"/>\n";
  };
  text(kLeft, 24, f.name + ": " + unit_of(f.what) + " by bytes of data", "font-size=\"15\"");
  for (double v = x.low; v <= x.high * 1.01; v *= 10) {
    line(x.at(v, kLeft, kRight), kTop, x.at(v, kLeft, kRight), kBottom, "#dddddd");
    text(x.at(v, kLeft, kRight), kBottom + 18, bytes(static_cast<uint64_t>(v)), "text-anchor=\"middle\"");
  }
  for (double v = y.low; v <= y.high * 1.01; v *= 10) {
    line(kLeft, y.at(v, kBottom, kTop), kRight, y.at(v, kBottom, kTop), "#dddddd");
    text(kLeft - 8, y.at(v, kBottom, kTop) + 4, value(f.what, v), "text-anchor=\"end\"");
  }
  std::vector<std::string> series;
  for (const Row &r : f.rows) {
    const std::string name = r.arch + ", " + r.impl;
    const auto i = static_cast<size_t>(std::find(series.begin(), series.end(), name) - series.begin());
    const char *colour = kColours[i % std::size(kColours)];
    if (i == series.size()) {
      series.push_back(name);
      s += "<circle cx=\"720\" cy=\"" + number(kTop + 18.0 * static_cast<double>(i)) + "\" r=\"4\" fill=\"" + colour + "\"/>\n";
      text(730, kTop + 4 + 18.0 * static_cast<double>(i), name);
    }
    const double at = r.bytes ? x.at(static_cast<double>(r.bytes), kLeft, kRight) : kLeft;
    line(at, y.at(std::max(r.median - r.spread, r.median / 10), kBottom, kTop), at, y.at(r.median + r.spread, kBottom, kTop), colour);
    s += "<circle cx=\"" + number(at) + "\" cy=\"" + number(y.at(r.median, kBottom, kTop)) + "\" r=\"4\" fill=\"" + colour + "\"/>\n";
  }
  return s + "</svg>\n";
}

}  // namespace

int run_model_list(Settings &settings) {
  std::vector<File> all;
  if (!read_all(settings, &all)) return failed();
  if (all.empty()) return std::puts("no model is kept"), 0;
  Table table({"MODEL", "OF", "ROWS", "MEASUREMENTS", "FILE", ""});
  table.right(2);
  table.right(3);
  for (const File &f : all) {
    uint64_t count = 0;
    for (const Row &r : f.rows) count += r.count;
    table.add({f.name.empty() ? "?" : f.name, f.reason.empty() ? unit_of(f.what) : "", std::to_string(f.rows.size()),
               std::to_string(count), f.path, !f.reason.empty() ? f.reason : f.here ? "" : "of another machine: " + f.machine});
  }
  table.print();
  return 0;
}

int run_model_show(Settings &settings, const std::string &name) {
  std::vector<File> files;
  if (!find(settings, name, &files)) return 1;
  for (const File &f : files) {
    std::printf("%s of \"%s\" on %s\n%s\n", unit_of(f.what), f.name.c_str(), f.here ? "this machine" : f.machine.c_str(), f.path.c_str());
    Table table({"UNITS", "IMPLEMENTATION", "SIZE", "BYTES", "MEDIAN", "SPREAD", "MEASURED", "SET APART"});
    for (const size_t c : {3, 4, 5, 6, 7}) table.right(c);
    for (const Row &r : f.rows) {
      char size[20];
      std::snprintf(size, sizeof size, "%016llx", static_cast<unsigned long long>(r.footprint));
      table.add({r.arch.empty() ? r.klass : r.arch, r.impl, size, std::to_string(r.bytes), value(f.what, r.median),
                 value(f.what, r.spread), std::to_string(r.count), std::to_string(r.outliers)});
    }
    table.print();
  }
  return 0;
}

int run_model_check(Settings &settings) {
  std::vector<File> all;
  if (!read_all(settings, &all)) return failed();
  uint32_t bad = 0, rows = 0;
  for (const File &f : all) {
    if (!f.reason.empty()) ++bad, std::printf("%s: %s\n", f.path.c_str(), f.reason.c_str());
    for (const Row &r : f.rows) {
      ++rows;
      if (const std::string why = doubt(r); !why.empty())
        ++bad, std::printf("%s: \"%s\" on %s, %llu bytes: %s\n", f.path.c_str(), f.name.c_str(), r.arch.c_str(),
                           static_cast<unsigned long long>(r.bytes), why.c_str());
    }
  }
  std::printf("%zu models, %u sizes: %s\n", all.size(), rows,
              bad ? "what is named above is better measured again (calibrate = \"drop\"), or its file deleted" : "nothing to say against them");
  return bad != 0;
}

int run_model_plot(Settings &settings, const std::string &name, const std::string &out) {
  std::vector<File> files;
  if (!find(settings, name, &files)) return 1;
  const auto whole = std::find_if(files.begin(), files.end(), [](const File &f) { return !f.rows.empty(); });
  if (whole == files.end()) return std::fprintf(stderr, "consort: nothing was measured of \"%s\"\n", name.c_str()), 1;
  std::ofstream file(out);
  file << drawing(*whole);
  file.close();
  if (!file) return std::fprintf(stderr, "consort: cannot write %s\n", out.c_str()), 1;
  std::printf("%s: %zu sizes of \"%s\"\n", out.c_str(), whole->rows.size(), name.c_str());
  return 0;
}

}  // namespace tool
