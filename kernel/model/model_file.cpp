#include "model/model_file.hpp"

#include <consort/model.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/file_text.hpp"
#include "model/sample_window.hpp"

namespace consort {
namespace {

constexpr float kMostValue = 1e18f;  // ns, µJ: more than any task takes
constexpr const char *kUnits[] = {"ns", "uJ"};

// Splits a line at tabs.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> out;
  for (size_t at = 0;;) {
    const size_t tab = line.find('\t', at);
    out.emplace_back(line.substr(at, tab - at));
    if (tab == line.npos) return out;
    at = tab + 1;
  }
}

std::string plain(const std::string &name) { return one_line(name); }

std::string_view next_line(std::string_view &text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

bool take(std::string_view &line, std::string_view word) {
  if (!line.starts_with(word)) return false;
  line.remove_prefix(word.size());
  return true;
}

bool read_number(const std::string &s, int base, uint64_t *out) {
  char *end = nullptr;
  *out = std::strtoull(s.c_str(), &end, base);
  return !s.empty() && !*end;
}

bool read_samples(const std::string &list, std::vector<float> *out) {
  for (const char *at = list.c_str(); *at;) {
    char *end = nullptr;
    const float x = std::strtof(at, &end);
    if (end == at || !(x > 0) || !(x < kMostValue) || out->size() == SampleWindow::kMost) return false;
    out->push_back(x);
    at = end;
    while (*at == ' ') ++at;
  }
  return !out->empty();
}

bool read_measures(const std::string &list, std::vector<double> *out) {
  for (const char *at = list.c_str(); *at;) {
    char *end = nullptr;
    const double x = std::strtod(at, &end);
    if (end == at || !std::isfinite(x) || out->size() == CONSORT_MODEL_MEASURES) return false;
    out->push_back(x);
    at = end;
    while (*at == ' ') ++at;
  }
  return !out->empty();
}

}  // namespace

std::string StoredModel::about() const {
  std::string text = "machine " + machine + "\nmodel " + plain(name) + "\nmeasures " + kUnits[what] + "\n";
  for (const Impl &i : impls) text += "implementation " + plain(i.klass) + "\t" + plain(i.name) + "\n";
  return text;
}

std::string StoredModel::body() const {
  std::string text =
      "# by kind of unit: size (footprint), bytes of data, implementation, measurements, those set apart, median, "
      "spread, the last ones; what curves go by, if not the bytes\n";
  const StoredCell *before = nullptr;
  for (const StoredCell &c : cells) {
    if (c.samples.empty()) continue;
    if (!before || before->klass != c.klass || before->arch != c.arch)
      text += "unit " + plain(c.klass) + "\t" + plain(c.arch) + "\n";
    before = &c;
    const SampleWindow::Figure f = figure_of(c.samples);
    char line[192];
    std::snprintf(line, sizeof line, "%016" PRIx64 "\t%" PRIu64 "\t%u\t%" PRIu64 "\t%" PRIu64 "\t%.6g\t%.3g\t",
                  c.footprint, c.bytes, c.impl, c.count, c.outliers, static_cast<double>(f.median),
                  static_cast<double>(f.spread));
    text += line;
    for (size_t i = 0; i < c.samples.size(); ++i) {
      std::snprintf(line, sizeof line, i ? " %.6g" : "%.6g", static_cast<double>(c.samples[i]));
      text += line;
    }
    for (size_t i = 0; i < c.at.size(); ++i) {
      std::snprintf(line, sizeof line, i ? " %.17g" : "\t%.17g", c.at[i]);
      text += line;
    }
    text += "\n";
  }
  return text;
}

Result<size_t> StoredModel::read_about(std::string_view text) {
  const size_t all = text.size();
  std::string_view rest = text, line = next_line(rest);
  const auto bad = [&] { return error(CONSORT_E_INVAL, "its line \"" + std::string(line) + "\" is none of its head"); };
  if (!take(line, "machine ")) return bad();
  machine = line;
  line = next_line(rest);
  if (!take(line, "model ") || line.empty()) return bad();
  name = line;
  line = next_line(rest);
  if (!take(line, "measures ") || (line != kUnits[0] && line != kUnits[1])) return bad();
  what = line == kUnits[1];
  while (rest.starts_with("implementation ")) {
    line = next_line(rest);
    take(line, "implementation ");
    const auto fields = fields_of(line);
    if (fields.size() != 2 || impls.size() == 64) return bad();
    impls.push_back({fields[0], fields[1]});
  }
  return all - rest.size();
}

Result<void> StoredModel::read_body(std::string_view text) {
  std::string klass, arch;
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (line.empty() || line[0] == '#') continue;
    const std::string whole(line.substr(0, 60));
    const auto bad = [&] { return error(CONSORT_E_INVAL, "its line \"" + whole + "\" is no measurement"); };
    if (take(line, "unit ")) {
      const auto fields = fields_of(line);
      if (fields.size() != 2) return bad();
      klass = fields[0];
      arch = fields[1];
      continue;
    }
    const auto fields = fields_of(line);
    StoredCell c;
    uint64_t impl = 0;
    if ((fields.size() != 8 && (fields.size() != 9 || !read_measures(fields[8], &c.at))) || klass.empty() ||
        !read_number(fields[0], 16, &c.footprint) || !c.footprint ||
        !read_number(fields[1], 10, &c.bytes) || !read_number(fields[2], 10, &impl) || impl >= impls.size() ||
        !read_number(fields[3], 10, &c.count) || !read_number(fields[4], 10, &c.outliers) ||
        !read_samples(fields[7], &c.samples) || c.count < c.samples.size())
      return bad();
    c.klass = klass;
    c.arch = arch;
    c.impl = static_cast<uint32_t>(impl);
    cells.push_back(std::move(c));
  }
  return {};
}

StoredModel StoredModel::brought(std::string machine, std::string name, uint32_t what) {
  StoredModel m;
  m.machine = std::move(machine);
  m.name = std::move(name);
  m.what = what;
  for (uint32_t i = 0; i < kBroughtImpls; ++i) m.impls.push_back({"*", "#" + std::to_string(i)});
  return m;
}

bool StoredModel::is_brought() const noexcept { return !impls.empty() && impls[0].klass == "*"; }

std::string StoredModel::file_name() const {
  std::string word = name.substr(0, 64);
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  std::replace_if(word.begin(), word.end(), std::not_fn(fits), '_');
  return word + "-" + hex_sum(about()) + ".txt";
}

}  // namespace consort
