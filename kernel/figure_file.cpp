#include "figure_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace consort {
namespace {

constexpr const char *kHead = "consort links ";
constexpr int kVersion = 1;
constexpr size_t kLongest = 1 << 20;

uint64_t sum_of(std::string_view text) {  // FNV-1a
  uint64_t sum = 0xcbf29ce484222325u;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return sum;
}

std::string hex(uint64_t n) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, n);
  return text;
}

// Tabs part the fields of a line.
bool can_be_kept(const std::string &name) { return name.find_first_of("\t\n") == name.npos; }

bool make_folders(const std::string &path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    if (::mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (at == path.npos) return true;
  }
}

}  // namespace

std::string FigureFile::standard_folder() {
  const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/consort/links";
  return home && home[0] == '/' ? std::string(home) + "/.cache/consort/links" : "";
}

FigureFile::FigureFile(std::string folder, const std::string &driver, std::string about)
    : folder_(std::move(folder)), about_(std::move(about)) {
  if (!folder_.empty()) path_ = folder_ + "/" + driver + "-" + hex(sum_of(about_)) + ".txt";
}

FigureFile::State FigureFile::read(Figures *out, std::string *why) const {
  if (path_.empty()) return State::kAbsent;
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return State::kAbsent;
    return *why = "it cannot be opened: " + std::string(std::strerror(errno)), State::kUnusable;
  }
  std::string text(kLongest, '\0');
  size_t have = 0;
  for (ssize_t n; have < kLongest && (n = ::read(fd, text.data() + have, kLongest - have)) > 0;)
    have += static_cast<size_t>(n);
  ::close(fd);
  text.resize(have);
  if (!text.starts_with(kHead)) return *why = "it is no list of links", State::kUnusable;
  if (const int version = std::atoi(text.c_str() + std::strlen(kHead)); version != kVersion)
    return *why = "it is of version " + std::to_string(version) + ", not " + std::to_string(kVersion), State::kUnusable;
  const size_t end = text.rfind("end ");
  if (end == text.npos || text.substr(end) != "end " + hex(sum_of({text.data(), end})) + "\n")
    return *why = "it is cut short, or was changed", State::kUnusable;
  const size_t body = text.find('\n') + 1;
  if (text.compare(body, about_.size(), about_) != 0) return State::kAbsent;
  Figures found;
  for (size_t at = body + about_.size(); at < end;) {
    const size_t stop = text.find('\n', at);
    const std::string line = text.substr(at, stop - at);
    at = stop + 1;
    if (line.empty() || line[0] == '#') continue;
    char *rest = nullptr;
    LinkFigure f;
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

Result<void> FigureFile::write(const Figures &figures) const {
  if (path_.empty()) return {};
  std::string text = kHead + std::to_string(kVersion) + "\n" + about_;
  text += "# bytes per second, latency in ns, from, to; `consort topo --links --measure` writes it anew\n";
  for (const auto &[ends, f] : figures) {
    if (!can_be_kept(ends.first) || !can_be_kept(ends.second)) continue;
    char numbers[64];
    std::snprintf(numbers, sizeof numbers, "%.0f %.1f\t", f.bytes_per_s, f.latency_ns);
    text += numbers + ends.first + "\t" + ends.second + "\n";
  }
  text += "end " + hex(sum_of(text)) + "\n";
  const auto bad = [&](const char *what, const std::string &name) {
    return error(CONSORT_E_IO, std::string(what) + " " + name + ": " + std::strerror(errno));
  };
  if (!make_folders(folder_)) return bad("cannot make the folder", folder_);
  std::string part = path_ + ".XXXXXX";
  const int fd = ::mkostemp(part.data(), O_CLOEXEC);
  if (fd < 0) return bad("cannot write", part);
  size_t done = 0;
  for (ssize_t n; done < text.size() && (n = ::write(fd, text.data() + done, text.size() - done)) > 0;)
    done += static_cast<size_t>(n);
  const bool good = (::close(fd) == 0) && done == text.size() && ::rename(part.c_str(), path_.c_str()) == 0;
  if (good) return {};
  const Error e = bad("cannot write", path_);
  ::unlink(part.c_str());
  return e;
}

}  // namespace consort
