#include "commands.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "terminal.hpp"

namespace tool {
namespace {

// Counts letters, not bytes: names may be UTF-8.
size_t width(const std::string &s) {
  return static_cast<size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Edit distance.
size_t distance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j)
      corner = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, corner + (a[i - 1] != b[j - 1])}));
  }
  return row[b.size()];
}

}  // namespace

std::string did_you_mean(const std::string &word, const std::vector<std::string> &names) {
  const auto nearest = std::min_element(names.begin(), names.end(), [&](const std::string &a, const std::string &b) {
    return distance(a, word) < distance(b, word);
  });
  if (nearest == names.end() || distance(*nearest, word) > (word.size() < 4 ? 1 : 2)) return {};
  return " (did you mean \"" + *nearest + "\"?)";
}

bool Settings::resolve(consort_settings *out, std::vector<consort_setting> extra) {
  *out = CONSORT_SETTINGS_INIT;
  keys_.clear();
  set_.clear();
  keys_.reserve(assignments.size() * 2);  // pointers into it must stay valid
  for (const std::string &a : assignments) {
    const size_t equals = a.find('=');
    if (equals == a.npos || equals == 0) return complain("--set \"" + a + "\" is not of the form key=value"), false;
    keys_.push_back(a.substr(0, equals));
    keys_.push_back(a.substr(equals + 1));
  }
  for (size_t i = 0; i < keys_.size(); i += 2) set_.push_back({keys_[i].c_str(), keys_[i + 1].c_str()});
  set_.insert(set_.end(), extra.begin(), extra.end());
  if (!file.empty()) out->file = file.c_str();
  out->set = set_.data();
  out->nset = static_cast<uint32_t>(set_.size());
  if (!loud) out->log = [](void *, int32_t, const char *) {};
  return true;
}

void Table::print() const {
  std::vector<size_t> widths;
  for (const auto &row : rows_)
    for (size_t c = 0; c < row.size(); ++c) {
      if (widths.size() <= c) widths.push_back(0);
      widths[c] = std::max(widths[c], width(row[c]));
    }
  for (const auto &row : rows_) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(widths[c] - width(row[c]), ' ');
      const bool to_right = std::find(right_.begin(), right_.end(), c) != right_.end();
      line += (c ? "  " : "") + (to_right ? blanks + row[c] : row[c] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::puts(&row == &rows_.front() ? bold(line).c_str() : line.c_str());
  }
}

const char *kind_name(uint32_t kind) {
  switch (kind) {
    case CONSORT_KIND_DRIVER: return "driver";
    case CONSORT_KIND_INTERFACE: return "interface";
    case CONSORT_KIND_SCHEDULER: return "scheduler";
    case CONSORT_KIND_TRANSPORT: return "transport";
    case CONSORT_KIND_REPORT: return "report";
    case CONSORT_KIND_LAYER: return "layer";
    default: return "?";
  }
}

std::string bytes(uint64_t n) {
  constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(n);
  size_t u = 0;
  for (; value >= 1024 && u + 1 < sizeof units / sizeof *units; ++u) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, u ? "%.1f %s" : "%.0f %s", value, units[u]);
  return text;
}

void Table::add(std::vector<std::string> row) {
  for (std::string &cell : row) cell = printable(cell);
  rows_.push_back(std::move(row));
}

int failed() { return complain(consort_error()); }

}  // namespace tool
