// cache_file.hpp — a small text file that keeps data on this machine between runs of a program.
//
// The file names its subject in full, so a file about another subject is never used. It ends in a checksum, so a
// truncated file is rejected. It is replaced by a rename (temporary_file.hpp): a reader sees the old file or the new
// one. Of two concurrent writers the later one wins. [any] thread; owns nothing.
#pragma once
#include <string>
#include <string_view>

#include "base/file_text.hpp"
#include "base/result.hpp"

namespace consort {

class CacheFile {
 public:
  enum class State { kAbsent, kGood, kUnusable };

  // kind: the word or two in the file's first line, "links". about: whole lines. path "": no file is read or written.
  CacheFile(std::string path, const char *kind, int version, std::string about)
      : path_(std::move(path)), kind_(kind), version_(version), about_(std::move(about)) {}
  // Returns in `body` the whole lines after the subject; `why` explains kUnusable in one line. A file about another
  // subject is kAbsent.
  State read(std::string *body, std::string *why) const;
  // Creates missing folders. May throw bad_alloc.
  Result<void> write(const std::string &body) const;
  const std::string &path() const noexcept { return path_; }

  // Reads any file of that kind, whatever its subject: the text after the first line.
  static State read_any(const std::string &path, const char *kind, int version, std::string *text, std::string *why);

  // Returns $XDG_CACHE_HOME/consort/ROOM or the same below ~/.cache. Returns "" if neither is known, or if the process
  // has more rights than its user.
  static std::string folder(const char *room);

 private:
  std::string head() const { return "consort " + std::string(kind_) + " " + std::to_string(version_) + "\n"; }
  std::string path_;
  const char *kind_;
  int version_;
  std::string about_;
};

// A description of this machine that stays the same between runs: host name, architecture, hash of the machine ID.
// with_system adds the operating system and its release.
std::string machine_words(bool with_system);

}  // namespace consort
