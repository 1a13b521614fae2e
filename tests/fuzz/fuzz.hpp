// fuzz.hpp — shared by the fuzz targets: the input read in turn, a file in memory, one line for a broken promise.
//
// A target is one source file that defines LLVMFuzzerTestOneInput. libFuzzer calls it (./run fuzz). Under any compiler,
// replay.cpp calls it with each file of the target's corpus. One thread.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace fuzz {

// A reader broke its promise: the process ends, and the fuzzer keeps the input.
[[noreturn]] inline void broken(const char *promise, std::string_view detail = "") {
  std::fprintf(stderr, "broken promise: %s: \"%.*s\"\n", promise, static_cast<int>(std::min<size_t>(detail.size(), 400)),
               detail.data());
  std::fflush(nullptr);
  std::abort();
}
inline void expect(bool holds, const char *promise, std::string_view detail = "") {
  if (!holds) broken(promise, detail);
}
// A refusal is one line of text that is not empty.
inline void expect_refusal(int status, std::string_view text) {
  expect(status < 0, "a refusal has a negative status", text);
  expect(!text.empty(), "a refusal has a text");
}

// The input, from its front. Bytes beyond its end are zero.
class Bytes {
 public:
  Bytes(const uint8_t *data, size_t size) : rest_(reinterpret_cast<const char *>(data), size) {}

  bool empty() const { return rest_.empty(); }
  template <class T>
  T take() {
    T value{};
    const size_t n = std::min(sizeof value, rest_.size());
    if (n) std::memcpy(&value, rest_.data(), n);
    rest_.remove_prefix(n);
    return value;
  }
  uint8_t byte() { return take<uint8_t>(); }
  uint32_t below(uint32_t n) { return n <= 256 ? byte() % n : take<uint32_t>() % n; }
  bool flag() { return byte() & 1; }
  std::string_view text(size_t most) {
    const std::string_view got = rest_.substr(0, std::min<size_t>(byte(), most));
    rest_.remove_prefix(std::min(got.size(), rest_.size()));
    return got;
  }
  std::string_view line() {
    const size_t end = rest_.find('\n');
    const std::string_view got = rest_.substr(0, end);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    return got;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// A copy of exactly that size, so that the address sanitizer sees a read behind the end.
class Copy {
 public:
  explicit Copy(std::string_view of) : bytes_(new char[of.size()]), size_(of.size()) {
    if (size_) std::memcpy(bytes_.get(), of.data(), size_);
  }
  const char *data() const { return bytes_.get(); }
  size_t size() const { return size_; }

 private:
  const std::unique_ptr<char[]> bytes_;
  const size_t size_;
};

// A file for readers that take a path. It stays open, and has no name in any folder.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view contents = {}) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    expect(fd_ >= 0, "memfd_create() gives a file");
    set(contents);
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  void set(std::string_view contents) {
    expect(::ftruncate(fd_, 0) == 0, "a file in memory can be cut");
    for (size_t at = 0; at < contents.size();) {
      const ssize_t n = ::pwrite(fd_, contents.data() + at, contents.size() - at, static_cast<off_t>(at));
      expect(n > 0, "a file in memory can be written");
      at += static_cast<size_t>(n);
    }
  }
  std::string text() const {
    std::string all(static_cast<size_t>(std::max<off_t>(::lseek(fd_, 0, SEEK_END), 0)), '\0');
    const ssize_t n = ::pread(fd_, all.data(), all.size(), 0);
    all.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
    return all;
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  const int fd_;
};

}  // namespace fuzz
