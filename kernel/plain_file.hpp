// plain_file.hpp — a file that something else wrote, opened to be read.
//
// Opening never waits: a pipe without a writer is refused, and so is everything that is no regular file (a device, a
// socket, a folder), and a file of more than `most` bytes. Every reader of the kernel opens its files here. [any] thread.
#pragma once
#include <cstdint>
#include <string>

#include "result.hpp"

namespace consort {

class PlainFile {
 public:
  static constexpr uint64_t kAnySize = UINT64_MAX;

  PlainFile(const char *path, uint64_t most);
  ~PlainFile();
  PlainFile(const PlainFile &) = delete;
  PlainFile &operator=(const PlainFile &) = delete;

  explicit operator bool() const noexcept { return fd_ >= 0; }
  bool absent() const noexcept { return absent_; }           // there is no file of this name
  const std::string &why() const noexcept { return why_; }   // "cannot be read: Permission denied"
  int fd() const noexcept { return fd_; }
  uint64_t bytes() const noexcept { return bytes_; }         // when it was opened
  Result<std::string> text() const;                          // of `bytes()` at most; E_IO

 private:
  void refuse(std::string why) noexcept;
  int fd_ = -1;
  bool absent_ = false;
  uint64_t bytes_ = 0;
  std::string why_;
};

}  // namespace consort
