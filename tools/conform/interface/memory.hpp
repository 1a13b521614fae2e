// memory.hpp — memory that tells when an interface writes or reads where it must not.
#pragma once
#include <consort/interface.h>

#include <cstring>
#include <vector>

#include "conform/case.hpp"

namespace conform {

// A shape or a view: room for more than an interface may write, so that what it writes too much is seen.
struct Pod {
  static constexpr size_t kRoom = 512;
  alignas(16) unsigned char bytes[kRoom];
  unsigned char fill;

  explicit Pod(unsigned char with = 0xee) : fill(with) { std::memset(bytes, with, sizeof bytes); }
  void *at() { return bytes; }
  const void *at() const { return bytes; }
  bool kept_behind(size_t size) const {
    for (size_t i = size; i < kRoom; ++i)
      if (bytes[i] != fill) return false;
    return true;
  }
};

// So many bytes that end where memory ends; sealed, none can be written. Who goes further is killed, and the report names
// the function.
class Guarded {
 public:
  explicit Guarded(size_t bytes);
  Guarded(const void *from, size_t bytes);   // sealed
  ~Guarded();
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  char *data() { return begin_; }
  const char *data() const { return begin_; }
  size_t size() const { return bytes_; }
  void seal();

 private:
  char *pages_, *begin_;
  size_t mapped_, bytes_;
};

// Where data lie: bytes by chance, aligned to 64.
class Arena {
 public:
  Arena(size_t bytes, Random &);
  unsigned char *data() { return begin_; }
  const unsigned char *data() const { return begin_; }
  size_t size() const { return size_; }
  // The offset of n bytes in it, or -1.
  int64_t find(consort_addr a, uint64_t n) const { return find(a.base + a.off, n); }
  int64_t find(uint64_t at, uint64_t n) const;
  std::vector<unsigned char> copy() const { return {begin_, begin_ + size_}; }

 private:
  std::vector<unsigned char> bytes_;
  unsigned char *begin_;
  size_t size_;
};

}  // namespace conform
