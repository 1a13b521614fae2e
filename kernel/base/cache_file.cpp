#include "base/cache_file.hpp"

#include <consort/shared/plain_file.hpp>
#include <consort/shared/temporary_file.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace consort {
namespace {

constexpr size_t kLongest = 1 << 22;

bool make_folders(const std::string &path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    if (::mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (at == path.npos) return true;
  }
}

}  // namespace

std::string machine_words(bool with_system) {
  utsname u{};
  ::uname(&u);
  std::string words = u.nodename;
  if (with_system) words += std::string(" ") + u.sysname + " " + u.release;
  words += std::string(" ") + u.machine;
  if (const shared::PlainFile file("/etc/machine-id", kLongest); file)
    if (std::string all, why; file.read(&all, &why) && !all.empty()) {
      uint64_t sum = 0;  // a hash: the machine ID itself is confidential
      const size_t end = all.find('\n');
      for (const char c : all.substr(0, std::min<size_t>(end == std::string::npos ? end : end + 1, 63)))
        sum = sum * 1099511628211u + static_cast<unsigned char>(c);
      char text[16];
      std::snprintf(text, sizeof text, " %08x", static_cast<unsigned>(sum ^ sum >> 32));
      words += text;
    }
  return one_line(std::move(words));
}

std::string CacheFile::folder(const char *room) {
  const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/consort/" + room;
  return home && home[0] == '/' ? std::string(home) + "/.cache/consort/" + room : "";
}

CacheFile::State CacheFile::read_any(const std::string &path, const char *kind, int version, std::string *text,
                                   std::string *why) {
  const shared::PlainFile file(path.c_str(), kLongest);
  if (file.absent()) return State::kAbsent;
  if (!file) return *why = "it " + file.why(), State::kUnusable;
  std::string all, fault;
  if (!file.read(&all, &fault)) return *why = "it " + fault, State::kUnusable;
  const std::string head = "consort " + std::string(kind) + " ";
  if (!all.starts_with(head)) return *why = "it is no list of " + std::string(kind), State::kUnusable;
  if (const int found = std::atoi(all.c_str() + head.size()); found != version)
    return *why = "it is of version " + std::to_string(found) + ", not " + std::to_string(version), State::kUnusable;
  const size_t end = all.rfind("\nend ") + 1;  // 0: not found
  if (end == 0 || all.substr(end) != "end " + hex_sum({all.data(), end}) + "\n")
    return *why = "it is cut short, or was changed", State::kUnusable;
  const size_t begin = all.find('\n') + 1;
  *text = all.substr(begin, end - begin);
  return State::kGood;
}

CacheFile::State CacheFile::read(std::string *body, std::string *why) const {
  if (path_.empty()) return State::kAbsent;
  const State s = read_any(path_, kind_, version_, body, why);
  if (s != State::kGood) return s;
  if (!body->starts_with(about_)) return State::kAbsent;
  body->erase(0, about_.size());
  return State::kGood;
}

Result<void> CacheFile::write(const std::string &body) const {
  if (path_.empty()) return {};
  std::string text = head() + about_ + body;
  text += "end " + hex_sum(text) + "\n";
  const auto bad = [&](const char *what, const std::string &name) {
    return error(CONSORT_E_IO, std::string(what) + " " + name + ": " + std::strerror(errno));
  };
  if (const std::string folder = path_.substr(0, path_.rfind('/')); !make_folders(folder))
    return bad("cannot make the folder", folder);
  shared::TemporaryFile part(path_);
  if (part.error()) {
    errno = part.error();
    return bad("cannot write", part.name());
  }
  if (!part.write(text) || !part.rename()) return bad("cannot write", path_);
  return {};
}

}  // namespace consort
