// cache_file.hpp — a small file of text that is kept on this machine from run to run, for a program that starts anew.
//
// It says in full what it is about, so that a file of something else is never taken for it, and ends in a sum, so that
// half a file is not believed. Replaced by a rename (temporary_file.hpp): a reader sees the old one or the new one. Of
// two writers at once the later wins. [any] thread; owns nothing.
#pragma once
#include <string>
#include <string_view>

#include "base/file_text.hpp"
#include "base/result.hpp"

namespace consort {

class CacheFile {
 public:
  enum class State { kAbsent, kGood, kUnusable };

  // kind: a word or two at its head, "links"; about: whole lines. path "": nothing is kept.
  CacheFile(std::string path, const char *kind, int version, std::string about)
      : path_(std::move(path)), kind_(kind), version_(version), about_(std::move(about)) {}
  // Whole lines, behind what it is about. why: of kUnusable, in one line. One about something else is absent.
  State read(std::string *body, std::string *why) const;
  // May throw bad_alloc. Makes the folders that are missing.
  Result<void> write(const std::string &body) const;
  const std::string &path() const noexcept { return path_; }

  // The text of any file of that kind, whatever it is about: from behind its first line.
  static State read_any(const std::string &path, const char *kind, int version, std::string *text, std::string *why);

  // $XDG_CACHE_HOME/consort/ROOM, or below ~/.cache; "": neither is known, or the process has more rights than its
  // user.
  static std::string folder(const char *room);

 private:
  std::string head() const { return "consort " + std::string(kind_) + " " + std::to_string(version_) + "\n"; }
  std::string path_;
  const char *kind_;
  int version_;
  std::string about_;
};

// This machine, in words that are the same each time: its name and what it is; with_system: of its kernel, too.
std::string machine_words(bool with_system);

}  // namespace consort
