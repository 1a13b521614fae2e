// kernel_cache.hpp — kernel files: search in folders, and a cache of built kernels on disk.
//
// Cached files are untrusted: a file with a wrong check sum counts as missing. Any thread.
#pragma once
#include <consort/shared/plain_file.hpp>
#include <consort/shared/temporary_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace streams {

constexpr uint64_t kLargestText = 256 << 20;

inline uint64_t hash(const std::string &s, uint64_t h) {
  for (const unsigned char c : s) h = (h ^ c) * UINT64_C(0x100000001b3);
  return h ^ h >> 29;
}
inline std::string hex(const std::string &s) {
  char out[40];
  std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<unsigned long long>(hash(s, UINT64_C(0xcbf29ce484222325))),
                static_cast<unsigned long long>(hash(s, UINT64_C(0x9e3779b97f4a7c15))));
  return out;
}

// Atomic: writes a temporary file, then renames it, so concurrent writers never leave a partial file.
inline bool write_file(const std::string &path, const std::string &head, const std::string &body) {
  consort::shared::TemporaryFile file(path);
  return !file.error() && file.write(head) && file.write(body) && file.rename();
}

inline void make_folders(const std::string &path) {
  for (size_t at = 1; at != std::string::npos; at = path.find('/', at + 1))
    if (at > 1) ::mkdir(path.substr(0, at).c_str(), 0700);
  ::mkdir(path.c_str(), 0700);
}

inline bool ends_with(const std::string &s, const char *end) {
  const size_t n = std::strlen(end);
  return s.size() >= n && s.compare(s.size() - n, n, end) == 0;
}

// Folder of built kernels, "" for none. "auto": below the user's cache, or none in a process with more privileges than its
// user.
inline std::string cache_folder(const std::string &setting, const char *plugin) {
  if (setting == "off") return "";
  if (setting != "auto") return setting;
  const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/consort/" + plugin;
  return home && home[0] == '/' ? std::string(home) + "/.cache/consort/" + plugin : "";
}

// Reads a file of "consort-kernel 1 KEY CHECK\n" and the binary. False: missing, of another key, or damaged.
inline bool read_cached(const std::string &file, const std::string &key, std::string *binary) {
  std::string all;
  std::string why;
  if (!consort::shared::read_file(file, kLargestText, &all, &why)) return false;
  const size_t line = all.find('\n');
  if (line == std::string::npos) return false;
  *binary = all.substr(line + 1);
  return all.substr(0, line) == "consort-kernel 1 " + hex(key) + " " + hex(*binary);
}
inline bool write_cached(const std::string &file, const std::string &key, const std::string &binary) {
  make_folders(file.substr(0, file.rfind('/')));
  return write_file(file, "consort-kernel 1 " + hex(key) + " " + hex(binary) + "\n", binary);
}

// Reads a kernel file: from `folders` ("a:b") first, then relative to the working directory. where: its path.
inline bool find_kernel(const std::string &path, const std::string &folders, const char *plugin, std::string *text,
                        std::string *where, std::string *why) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    *why = "format \"file\" needs a path as text";
    return false;
  }
  std::string tried;
  const auto look = [&](const std::string &candidate) {
    std::string not_read;
    if (!consort::shared::read_file(candidate, kLargestText, text, &not_read)) {
      tried += (tried.empty() ? "" : ", ") + candidate + " (" + not_read + ")";
      return false;
    }
    *where = candidate;
    return true;
  };
  const size_t end_of_all = path[0] == '/' ? 0 : folders.size();
  for (size_t at = 0; at < end_of_all;) {
    const size_t end = std::min(folders.find(':', at), folders.size());
    if (end > at && look(folders.substr(at, end - at) + "/" + path)) return true;
    at = end + 1;
  }
  if (look(path)) return true;
  *why = "no kernel file " + tried + ": give a path that exists, or its folder in " + plugin + ".folders";
  return false;
}

}  // namespace streams
