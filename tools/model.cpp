// model.cpp — `consort model`: stored performance models, as tables and as a drawing.
#include <consort/model.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>

#include "commands.hpp"
#include "json.hpp"
#include "models.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

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

}  // namespace

std::string model_value(uint32_t what, double x) {
  if (what == CONSORT_MODEL_ENERGY) return x < 1e3 ? number(x) + " uJ" : x < 1e6 ? number(x / 1e3) + " mJ" : number(x / 1e6) + " J";
  return x < 1e3 ? number(x) + " ns" : x < 1e6 ? number(x / 1e3) + " us" : x < 1e9 ? number(x / 1e6) + " ms" : number(x / 1e9) + " s";
}

const char *model_unit(uint32_t what) { return what == CONSORT_MODEL_ENERGY ? "energy" : "time"; }

// Files of one name, those of this machine first. None: reports it.
bool find_models(Settings &settings, const std::string &name, std::vector<File> *out) {
  std::vector<File> all;
  if (!read_all(settings, &all)) return failed(), false;
  std::vector<std::string> names;
  for (const File &f : all)
    if (f.reason.empty()) names.push_back(f.name);
  for (const bool here : {true, false})
    for (File &f : all)
      if (f.here == here && f.reason.empty() && f.name == name) out->push_back(std::move(f));
  if (out->empty())
    complain("no model of \"" + name + "\" is stored" + did_you_mean(name, names) + "; consort model list shows all models");
  return !out->empty();
}

std::vector<Curve> curves_of(const File &f, uint32_t kind) {
  std::map<std::pair<std::string, std::string>, std::pair<std::vector<double>, std::vector<double>>> points;
  for (const Row &r : f.rows) {
    auto &[x, y] = points[{r.arch == "*" ? r.klass : r.arch, r.impl}];
    x.push_back(static_cast<double>(r.bytes));
    y.push_back(r.median);
  }
  std::vector<Curve> all;
  for (const auto &[whose, p] : points) {
    Curve c{whose.first, whose.second, {}};
    const consort_status s = consort_fit(kind, p.first.data(), p.second.data(), static_cast<uint32_t>(p.first.size()), &c.curve);
    if (s == CONSORT_OK || s == CONSORT_AGAIN) all.push_back(c);
  }
  return all;
}

namespace {

// Returns why a row is implausible; "": it is plausible.
std::string doubt(const Row &r) {
  if (r.count >= 10 && r.spread > r.median / 2) return "its measurements differ by more than half of their median";
  if (r.outliers * 4 > r.count) return "more than a quarter of its measurements are outliers";
  return "";
}

std::string curve_text(uint32_t what, const consort_model_curve &c) {
  char text[160];
  const std::string power = c.kind == CONSORT_MODEL_LINEAR ? "" : "^" + number(c.exponent);
  const std::string offset = c.kind == CONSORT_MODEL_POWER ? "" : (c.constant < 0 ? " - " : " + ") + number(std::fabs(c.constant));
  std::snprintf(text, sizeof text, "%s %s * bytes%s%s, through %u sizes, half of them within %.1f %%", number(c.factors[0]).c_str(),
                what == CONSORT_MODEL_ENERGY ? "uJ" : "ns", power.c_str(), offset.c_str(), c.points, c.error * 100);
  return text;
}

Json json_of(const File &f) {
  uint64_t count = 0;
  for (const Row &r : f.rows) count += r.count;
  return {{"name", f.name}, {"of", f.reason.empty() ? model_unit(f.what) : ""}, {"file", f.path}, {"here", f.here}, {"machine", f.machine},
          {"problem", f.reason}, {"rows", f.rows.size()}, {"measurements", count}};
}

// Times are nanoseconds, energies microjoules.
Json json_in_full(const File &f, uint32_t fit) {
  Json j = json_of(f);
  j["unit"] = f.what == CONSORT_MODEL_ENERGY ? "uJ" : "ns";
  j["sizes"] = Json::array();
  for (const Row &r : f.rows)
    j["sizes"].push_back({{"class", r.klass}, {"arch", r.arch}, {"implementation", r.impl}, {"footprint", r.footprint}, {"bytes", r.bytes},
                          {"median", r.median}, {"spread", r.spread}, {"measured", r.count}, {"set_apart", r.outliers}});
  if (!fit) return j;
  j["curves"] = Json::array();
  for (const Curve &c : curves_of(f, fit))
    if (c.curve.points)
      j["curves"].push_back({{"arch", c.arch}, {"implementation", c.impl}, {"factor", c.curve.factors[0]}, {"exponent", c.curve.exponent},
                             {"constant", c.curve.constant}, {"points", c.curve.points}, {"error", c.curve.error}});
  return j;
}

}  // namespace

int run_model_list(Settings &settings, bool json) {
  std::vector<File> all;
  if (!read_all(settings, &all)) return failed();
  if (json) {
    Json j = document("model list");
    j["models"] = Json::array();
    for (const File &f : all) j["models"].push_back(json_of(f));
    return print(j), 0;
  }
  if (all.empty()) return std::puts("no model is stored"), 0;
  Table table({"MODEL", "OF", "ROWS", "MEASUREMENTS", "FILE", ""});
  table.right(2);
  table.right(3);
  for (const File &f : all) {
    uint64_t count = 0;
    for (const Row &r : f.rows) count += r.count;
    table.add({f.name.empty() ? "?" : f.name, f.reason.empty() ? model_unit(f.what) : "", std::to_string(f.rows.size()),
               std::to_string(count), f.path, !f.reason.empty() ? f.reason : f.here ? "" : "of another machine: " + f.machine});
  }
  table.print();
  return 0;
}

int run_model_show(Settings &settings, const std::string &name, uint32_t fit, bool json) {
  std::vector<File> files;
  if (!find_models(settings, name, &files)) return 1;
  if (json) {
    Json j = document("model show");
    j["models"] = Json::array();
    for (const File &f : files) j["models"].push_back(json_in_full(f, fit));
    return print(j), 0;
  }
  for (const File &f : files) {
    std::printf("%s of \"%s\" on %s\n%s\n", model_unit(f.what), printable(f.name).c_str(),
                f.here ? "this machine" : printable(f.machine).c_str(), printable(f.path).c_str());
    Table table({"UNITS", "IMPLEMENTATION", "SIZE", "BYTES", "MEDIAN", "SPREAD", "MEASURED", "SET APART"});
    for (const size_t c : {3, 4, 5, 6, 7}) table.right(c);
    for (const Row &r : f.rows) {
      char size[20];
      std::snprintf(size, sizeof size, "%016llx", static_cast<unsigned long long>(r.footprint));
      table.add({r.arch.empty() ? r.klass : r.arch, r.impl, size, std::to_string(r.bytes), model_value(f.what, r.median),
                 model_value(f.what, r.spread), std::to_string(r.count), std::to_string(r.outliers)});
    }
    table.print();
    for (const Curve &c : fit ? curves_of(f, fit) : std::vector<Curve>()) {
      const std::string whose = c.arch + ", " + c.impl;
      if (c.curve.points) std::printf("%s: %s\n", printable(whose).c_str(), curve_text(f.what, c.curve).c_str());
      else std::printf("%s: no curve: too few sizes, or too close together\n", printable(whose).c_str());
    }
  }
  return 0;
}

int run_model_check(Settings &settings, bool json) {
  std::vector<File> all;
  if (!read_all(settings, &all)) return failed();
  uint32_t bad = 0, rows = 0;
  Json doubts = Json::array();
  const auto doubtful = [&](const File &f, const Row *r, const std::string &why) {
    ++bad;
    const std::string of = r ? "\"" + f.name + "\" on " + r->arch + ", " + std::to_string(r->bytes) + " bytes: " : "";
    if (!json) std::printf("%s\n", printable(f.path + ": " + of + why).c_str());
    Json j = {{"file", f.path}, {"name", f.name}, {"reason", why}};
    if (r) j["arch"] = r->arch, j["bytes"] = r->bytes;
    doubts.push_back(std::move(j));
  };
  for (const File &f : all) {
    if (!f.reason.empty()) doubtful(f, nullptr, f.reason);
    for (const Row &r : f.rows) {
      ++rows;
      if (const std::string why = doubt(r); !why.empty()) doubtful(f, &r, why);
    }
  }
  if (json) {
    Json j = document("model check");
    j["models"] = all.size(), j["sizes"] = rows, j["doubts"] = std::move(doubts);
    return print(j), bad != 0;
  }
  std::printf("%zu models, %u sizes: %s\n", all.size(), rows,
              bad ? "measure the models above again (calibrate = \"drop\"), or delete their files" : "all plausible");
  return bad != 0;
}

}  // namespace tool
