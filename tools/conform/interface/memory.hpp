// memory.hpp — memory that detects forbidden writes or reads of an interface.
#pragma once
#include <consort/interface.h>

#include <cstring>
#include <vector>

#include "conform/case.hpp"

namespace conform {

// A shape or a view, with room for more than an interface may write, so that excess is detected.
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

// Memory of a given size that ends at an inaccessible page; sealed: read-only. An access beyond is fatal, and the
// report names the function.
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

// Memory for data: random bytes, aligned to 64.
class Arena {
 public:
  Arena(size_t bytes, Random &);
  unsigned char *data() { return begin_; }
  const unsigned char *data() const { return begin_; }
  size_t size() const { return size_; }
  // Returns the offset of n bytes in it, or -1.
  int64_t find(consort_addr a, uint64_t n) const { return find(a.base + a.off, n); }
  int64_t find(uint64_t at, uint64_t n) const;
  std::vector<unsigned char> copy() const { return {begin_, begin_ + size_}; }

 private:
  std::vector<unsigned char> bytes_;
  unsigned char *begin_;
  size_t size_;
};

}  // namespace conform
