// model_import.cpp — `consort model import`: figures that another runtime measured on this machine, from its text tables.
//
// A table begins with a line that contains "performance model for ARCH" and a line with its column names, of which size, mean, dev
// and n are used (microseconds; "# hash size mean dev n"). Other lines that begin with # are ignored. ARCH is a class of
// units, optionally with a unit number, with or without an underscore: cuda_1, cpu0_impl1. Units of a class are merged.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "json.hpp"
#include "models.hpp"
#include "plain_file.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

struct Arch {
  std::string klass;
  uint32_t impl = 0;
};

// Figures of one size, merged over units.
struct Sum {
  double n = 0, sum = 0, squares = 0;
  void add(double mean, double dev, double count) {
    n += count;
    sum += count * mean;
    squares += count * (dev * dev + mean * mean);
  }
  double mean() const { return sum / n; }
  double dev() const { return std::sqrt(std::max(0.0, squares / n - mean() * mean())); }
};
using Sums = std::map<std::tuple<std::string, uint32_t, uint64_t>, Sum>;  // by class, implementation, bytes

std::vector<std::string> words_of(const std::string &line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string w; in >> w;)
    if (w[0] != '(') words.push_back(w);  // a unit, a remark
  return words;
}

Arch arch_of(const std::string &word, const std::map<std::string, std::string> &names) {
  Arch a;
  size_t end = 0;
  while (end < word.size() && std::isalpha(static_cast<unsigned char>(word[end]))) ++end;
  a.klass = word.substr(0, end);
  if (const size_t at = word.find("impl"); at != word.npos) a.impl = static_cast<uint32_t>(std::min(std::strtoul(word.c_str() + at + 4, nullptr, 10), 1000ul));
  if (const auto i = names.find(a.klass); i != names.end()) a.klass = i->second;
  return a;
}

class Reader {
 public:
  Reader(std::string path, const std::map<std::string, std::string> &names) : path_(std::move(path)), names_(names) {}

  Sums read() {
    std::istringstream in(read_plain(path_));
    for (std::string line; std::getline(in, line);) {
      ++line_;
      take(line);
    }
    if (sums_.empty()) refuse("has no table: one begins with \"performance model for ARCH\"");
    return std::move(sums_);
  }

 private:
  [[noreturn]] void refuse(const std::string &what) const { throw std::runtime_error(path_ + (line_ ? ":" + std::to_string(line_) : "") + ": " + what); }

  void take(std::string line) {
    static const std::string kHead = "performance model for ";
    if (const size_t at = line.find(kHead); at != line.npos) {
      const auto words = words_of(line.substr(at + kHead.size()));
      if (words.empty()) refuse("names no kind of unit");
      arch_ = arch_of(words[0], names_);
      if (arch_.klass.empty()) refuse("\"" + words[0] + "\" is not a kind of unit");
      columns_.clear();
      return;
    }
    const bool remark = line.find_first_not_of(" \t") != line.npos && line[line.find_first_not_of(" \t")] == '#';
    if (remark) {
      auto words = words_of(line.substr(line.find('#') + 1));
      const auto has = [&](const char *w) { return std::find(words.begin(), words.end(), w) != words.end(); };
      if (has("size") && has("mean") && has("n")) columns_ = std::move(words);
      return;
    }
    const auto words = words_of(line);
    if (words.empty()) return;
    if (arch_.klass.empty()) refuse("precedes the first \"performance model for ARCH\"");
    if (columns_.empty()) refuse("precedes a line with column names: # hash size mean dev n");
    if (words.size() != columns_.size())
      refuse("has " + std::to_string(words.size()) + " columns, its table " + std::to_string(columns_.size()));
    const double bytes = number(words, "size", false), mean = number(words, "mean", true), n = number(words, "n", true);
    const double dev = std::find(columns_.begin(), columns_.end(), "dev") == columns_.end() ? 0 : number(words, "dev", false);
    sums_[{arch_.klass, arch_.impl, static_cast<uint64_t>(bytes)}].add(mean, dev, n);
  }

  double number(const std::vector<std::string> &words, const char *column, bool positive) const {
    const std::string &w = words[static_cast<size_t>(std::find(columns_.begin(), columns_.end(), column) - columns_.begin())];
    char *end = nullptr;
    const double x = std::strtod(w.c_str(), &end);
    if (*end || !std::isfinite(x) || x < 0 || x > 1e18 || (positive && x == 0))
      refuse(std::string(column) + " is " + w + ": a number " + (positive ? "above 0" : "from 0") + " is needed");
    return x;
  }

  const std::string path_;
  const std::map<std::string, std::string> &names_;
  size_t line_ = 0;
  Arch arch_;
  std::vector<std::string> columns_;
  Sums sums_;
};

}  // namespace

int run_model_import(Settings &settings, const std::string &from, const std::string &name, const std::vector<std::string> &classes, bool energy,
                     bool json) {
  std::map<std::string, std::string> names;
  for (const std::string &c : classes) {
    const size_t at = c.find('=');
    if (at == c.npos || !at || at + 1 == c.size()) throw std::runtime_error("--class " + c + ": FROM=TO is needed, as cuda=gpu");
    names[c.substr(0, at)] = c.substr(at + 1);
  }
  const Sums sums = Reader(from, names).read();
  std::vector<consort_model_row> rows;
  for (const auto &[key, sum] : sums) {
    consort_model_row r{};
    r.size = sizeof r;
    r.klass = std::get<0>(key).c_str();
    r.impl_number = std::get<1>(key);
    r.bytes = std::get<2>(key);
    r.count = static_cast<uint64_t>(std::clamp(sum.n, 1.0, 1e18));
    r.median = sum.mean() * (energy ? 1e6 : 1e3);  // us, J
    r.spread = sum.dev() * (energy ? 1e6 : 1e3);
    rows.push_back(r);
  }
  consort_settings s;
  if (!settings.resolve(&s)) return failed();
  char path[512] = "";
  if (consort_keep_model(&s, name.c_str(), energy ? CONSORT_MODEL_ENERGY : CONSORT_MODEL_TIME, rows.data(), static_cast<uint32_t>(rows.size()),
                         path, sizeof path) < 0)
    return failed();
  if (json) {
    Json all = document("model import");
    all.update({{"name", name}, {"of", energy ? "energy" : "time"}, {"file", path}, {"sizes", rows.size()}});
    return print(all), 0;
  }
  std::printf("%s: %zu sizes of \"%s\"\n", printable(path).c_str(), rows.size(), printable(name).c_str());
  return 0;
}

}  // namespace tool
