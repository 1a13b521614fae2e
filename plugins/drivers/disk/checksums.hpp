// checksums.hpp — checksums of a file's written blocks: recorded before a write, compared after a read.
//
// One object per file. A block that was written as a whole has one sum. A block that was written in parts has one
// sum per part; parts of a block never overlap. Bytes that were never written have no sum and are not checked. If a
// write or read ends inside a part, the rest of that part is read from the file, to check it and to split it.
// Any thread; `mutex_` guards the tables and is a leaf. It is held during those reads of at most one block, so a neighbour
// in the same block cannot change the part meanwhile. The driver's contract excludes concurrent transfers of the same
// bytes.
#pragma once
#include <consort/shared/crc32c.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "file.hpp"

namespace disk {

using consort::shared::Crc32c;

struct Mismatch {
  uint64_t at = 0, bytes = 0;  // position in the file; 0 bytes: none
  uint32_t written = 0, found = 0;
};
struct Checked {
  int error = 0;  // error of a read needed by the check, or ENOMEM
  Mismatch bad;
  bool good() const noexcept { return error == 0 && bad.bytes == 0; }
};

class Checksums {
 public:
  void enable() noexcept { on_ = true; }
  bool enabled() const noexcept { return on_; }

  // [from, from + bytes) is new: unwritten, or zeros. Multiples of kBlock. Throws bad_alloc.
  void reset(uint64_t from, uint64_t bytes, bool zeros) {
    if (!on_) return;
    const uint64_t first = from / kBlock, end = (from + bytes) / kBlock;
    const std::lock_guard lock(mutex_);
    if (end > sums_.size()) {
      sums_.reserve(std::max<size_t>(end, sums_.size() + sums_.size() / 2));
      is_whole_.resize(end, false);
      sums_.resize(end, 0);
    }
    const uint32_t zero = zeros ? sum_of_zeros() : 0;
    for (uint64_t b = first; b < end; ++b) {
      sums_[b] = zero, is_whole_[b] = zeros;
      if (!parts_.empty()) parts_.erase(b);
    }
  }

  // To be called before `data` is written at `at`. Returns 0, or an error, after which nothing is to be written: what was
  // recorded of `data` until then is forgotten, so that the bytes that stay there are read unchecked.
  int record(const File &file, uint64_t at, const char *data, uint64_t bytes) noexcept {
    if (!on_) return 0;
    const int error = walk(at, data, bytes,
                           [&](uint64_t block, const uint32_t *sums, uint64_t n) {
                             const std::lock_guard lock(mutex_);
                             for (uint64_t i = 0; i < n; ++i) {
                               sums_[block + i] = sums[i], is_whole_[block + i] = true;
                               if (!parts_.empty()) parts_.erase(block + i);
                             }
                             return 0;
                           },
                           [&](uint64_t block, uint32_t from, uint32_t to, const char *part) {
                             return record_part(file, block, from, to, part);
                           });
    if (error) forget(at, bytes);
    return error;
  }

  // To be called after `data` was read at `at`.
  Checked check(const File &file, uint64_t at, const char *data, uint64_t bytes) noexcept {
    Checked c;
    if (!on_) return c;
    c.error = walk(at, data, bytes,
                   [&](uint64_t block, const uint32_t *sums, uint64_t n) {
                     const std::lock_guard lock(mutex_);
                     for (uint64_t i = 0; i < n; ++i) {
                       const char *const p = data + ((block + i) * kBlock - at);
                       if (!is_whole_[block + i]) {
                         if (const int e = check_parts(file, block + i, 0, kBlock, p, &c.bad)) return e;
                       } else if (sums_[block + i] != sums[i] && c.bad.bytes == 0) {
                         c.bad = {(block + i) * kBlock, kBlock, sums_[block + i], sums[i]};
                       }
                     }
                     return 0;
                   },
                   [&](uint64_t block, uint32_t from, uint32_t to, const char *part) {
                     const std::lock_guard lock(mutex_);
                     return check_parts(file, block, from, to, part, &c.bad);
                   });
    return c;
  }

  uint64_t parts() const {  // number of blocks that were written in parts
    const std::lock_guard lock(mutex_);
    uint64_t n = 0;
    for (const auto &[block, list] : parts_) n += list.size();
    return n;
  }

 private:
  struct Part {
    uint16_t from, bytes;  // position in the block; bytes <= kBlock
    uint32_t sum;
    uint32_t to() const noexcept { return uint32_t{from} + bytes; }
  };
  using Parts = std::vector<Part>;
  static constexpr uint64_t kAtOnce = 64;  // blocks summed per lock

  uint32_t sum_of_zeros() const noexcept {
    static constexpr char zeros[kBlock] = {};
    return crc_.of(zeros, kBlock);
  }

  // Splits [at, at + bytes) into runs of whole blocks, with their sums, and parts of a block. Stops at an error.
  template <class Whole, class Edge>
  int walk(uint64_t at, const char *data, uint64_t bytes, Whole whole, Edge edge) noexcept {
    try {
      const uint64_t end = at + bytes;
      for (uint64_t p = at; p < end;) {
        const uint64_t block = p / kBlock, from = p % kBlock;
        const uint64_t n = from ? 0 : std::min((end - p) / kBlock, kAtOnce);
        int e = 0;
        if (n) {
          uint32_t sums[kAtOnce];
          crc_.of_blocks(data + (p - at), kBlock, n, sums);
          e = whole(block, sums, n);
          p += n * kBlock;
        } else {
          const uint64_t to = std::min(end - block * kBlock, kBlock);
          e = edge(block, static_cast<uint32_t>(from), static_cast<uint32_t>(to), data + (p - at));
          p += to - from;
        }
        if (e) return e;
      }
      return 0;
    } catch (...) {
      return ENOMEM;
    }
  }

  // The bytes have no record any more. What reaches beyond them keeps its own.
  void forget(uint64_t at, uint64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    for (uint64_t block = at / kBlock; block * kBlock < at + bytes; ++block) {
      const uint64_t from = std::max(at, block * kBlock) % kBlock, to = std::min(at + bytes - block * kBlock, kBlock);
      if (from == 0 && to == kBlock) is_whole_[block] = false;
      const auto it = parts_.find(block);
      if (it == parts_.end()) continue;
      std::erase_if(it->second, [&](const Part &p) { return p.from >= from && p.to() <= to; });
      if (it->second.empty()) parts_.erase(it);
    }
  }

  // Mutex held. The recorded sums of a block, as parts.
  Parts parts_of(uint64_t block) const {
    if (is_whole_[block]) return {{0, kBlock, sums_[block]}};
    const auto it = parts_.find(block);
    return it == parts_.end() ? Parts() : it->second;
  }

  int record_part(const File &file, uint64_t block, uint32_t from, uint32_t to, const char *data) {
    const uint32_t sum = crc_.of(data, to - from);
    const std::lock_guard lock(mutex_);
    Parts next;
    const auto add = [&](uint32_t a, uint32_t b, uint32_t s) {
      if (a < b) next.push_back({static_cast<uint16_t>(a), static_cast<uint16_t>(b - a), s});
    };
    for (const Part &p : parts_of(block)) {
      if (p.to() <= from || p.from >= to) {
        next.push_back(p);
      } else if (p.from < from || p.to() > to) {
        char old[kBlock];
        if (const int e = file.read_all(block * kBlock + p.from, old, p.bytes)) return e;
        // The rest of a damaged part stays marked as damaged: its new sums are made wrong.
        const uint32_t spoilt = crc_.of(old, p.bytes) == p.sum ? 0 : ~0u;
        add(p.from, from, crc_.of(old, from > p.from ? from - p.from : 0) ^ spoilt);
        if (to < p.to()) add(to, p.to(), crc_.of(old + (to - p.from), p.to() - to) ^ spoilt);
      }
    }
    add(from, to, sum);
    parts_[block].swap(next);
    is_whole_[block] = false;
    return 0;
  }

  // Mutex held. `data` has the bytes [from, to) of the block.
  int check_parts(const File &file, uint64_t block, uint32_t from, uint32_t to, const char *data, Mismatch *bad) const {
    for (const Part &p : parts_of(block)) {
      if (p.to() <= from || p.from >= to || bad->bytes) continue;
      char whole[kBlock];
      const char *bytes = data + p.from - from;
      bool is_same = true;
      if (p.from < from || p.to() > to) {
        if (const int e = file.read_all(block * kBlock + p.from, whole, p.bytes)) return e;
        const uint32_t a = std::max<uint32_t>(p.from, from), b = std::min(p.to(), to);
        is_same = std::memcmp(whole + (a - p.from), data + (a - from), b - a) == 0;
        bytes = whole;
      }
      const uint32_t found = crc_.of(bytes, p.bytes);
      if (found != p.sum || !is_same) *bad = {block * kBlock + p.from, p.bytes, p.sum, found};
    }
    return 0;
  }

  const Crc32c crc_ = Crc32c::best();
  bool on_ = false;
  mutable std::mutex mutex_;
  std::vector<uint32_t> sums_;   // sum of block i if is_whole_[i]
  std::vector<bool> is_whole_;
  std::unordered_map<uint64_t, Parts> parts_;
};

}  // namespace disk
