#include "machine/link_calibration_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace consort {
namespace {

constexpr int kVersion = 1;

// The fields of a line are separated by tabs, so a name must not contain one.
bool can_be_kept(const std::string &name) { return name.find_first_of("\t\n") == name.npos; }

}  // namespace

LinkCalibrationFile::LinkCalibrationFile(std::string folder, const std::string &driver, std::string about)
    : file_(folder.empty() ? "" : folder + "/" + driver + "-" + hex_sum(about) + ".txt", "links", kVersion, about) {}

LinkCalibrationFile::State LinkCalibrationFile::read(Figures *out, std::string *why) const {
  std::string text;
  if (const State s = file_.read(&text, why); s != State::kGood) return s;
  Figures found;
  for (size_t at = 0; at < text.size();) {
    const size_t stop = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, stop - at);
    at = stop + 1;
    if (line.empty() || line[0] == '#') continue;
    char *rest = nullptr;
    LinkMeasurement f;
    f.bytes_per_s = std::strtod(line.c_str(), &rest);
    f.latency_ns = std::strtod(rest, &rest);
    const std::string names = *rest == '\t' ? rest + 1 : "";
    const size_t tab = names.find('\t');
    if (tab == names.npos || !std::isfinite(f.bytes_per_s) || !std::isfinite(f.latency_ns))
      return *why = "its line \"" + line + "\" is no link", State::kUnusable;
    found[{names.substr(0, tab), names.substr(tab + 1)}] = f;
  }
  *out = std::move(found);
  return State::kGood;
}

Result<void> LinkCalibrationFile::write(const Figures &figures) const {
  std::string text = "# bytes per second, latency in ns, from, to; `consort topo --links --measure` writes it anew\n";
  for (const auto &[ends, f] : figures) {
    if (!can_be_kept(ends.first) || !can_be_kept(ends.second)) continue;
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%.0f %.1f\t", f.bytes_per_s, f.latency_ns);
    text += numbers + ends.first + "\t" + ends.second + "\n";
  }
  return file_.write(text);
}

}  // namespace consort
