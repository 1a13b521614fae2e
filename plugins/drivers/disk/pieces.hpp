// pieces.hpp — divides a copy between memory and a file into transfers. Each is contiguous in the file and either direct from
// or to the memory, or through a buffer if rows are short or direct I/O needs alignment.
//
// Owned by its op, used by one thread at a time. Does no I/O itself.
#pragma once
#include <consort/driver.h>

#include <algorithm>
#include <cstring>

#include "file.hpp"

namespace disk {

struct Rules {
  uint64_t chunk = 1 << 20;  // largest transfer; a multiple of kBlock
  bool direct = false;       // whole blocks bypass the page cache
};

struct Piece {
  uint64_t at = 0, bytes = 0;  // in the file
  char *memory = nullptr;      // nullptr: through a buffer
  uint64_t from = 0;           // offset of its first byte in the copy
  bool direct = false;
};

class Pieces {
 public:
  Pieces() = default;
  // to_file: direction. A fill has no memory: its bytes come from `pattern`.
  Pieces(const consort_copy &c, bool to_file) : to_file_(to_file), run_(c.run), n_{c.n[0], c.n[1]} {
    const consort_addr &m = to_file ? c.src : c.dst, &f = to_file ? c.dst : c.src;
    const int64_t *ms = to_file ? c.src_step : c.dst_step, *fs = to_file ? c.dst_step : c.src_step;
    memory_ = reinterpret_cast<char *>(m.base + m.off);
    file_ = f.off;
    for (int i : {0, 1}) memory_step_[i] = ms[i], file_step_[i] = fs[i];
    for (int pass = 0; pass < 2; ++pass) {  // rows that are contiguous on both sides are merged
      const auto run = static_cast<int64_t>(run_);
      if (n_[0] == 1 || (memory_step_[0] == run && file_step_[0] == run)) {
        run_ *= n_[0];
        n_[0] = n_[1], n_[1] = 1;
        memory_step_[0] = memory_step_[1], file_step_[0] = file_step_[1];
      }
    }
    const auto run = static_cast<int64_t>(run_);
    rows_ = n_[0] > 1 && file_step_[0] != run                                 ? 1
            : n_[1] > 1 && file_step_[1] != run * static_cast<int64_t>(n_[0]) ? n_[0]
                                                                              : n_[0] * n_[1];
    total_ = run_ * n_[0] * n_[1];
  }
  explicit Pieces(const consort_fill &f)
      : to_file_(true), fill_(true), pattern_(f.pattern), file_(f.dst.off), run_(f.run), total_(f.run) {}

  bool to_file() const noexcept { return to_file_; }
  uint64_t total() const noexcept { return total_; }
  bool at_end() const noexcept { return next_ == total_; }
  void stop() noexcept { next_ = total_; }

  // Range of the file that the copy may access; false: it wraps around.
  bool reach(uint64_t *from, uint64_t *to) const noexcept {
    __int128 low = file_, high = file_;
    for (int i : {0, 1}) {
      const __int128 span = static_cast<__int128>(file_step_[i]) * (n_[i] ? n_[i] - 1 : 0);
      (span < 0 ? low : high) += span;
    }
    high += run_;
    if (low < 0 || high > UINT64_MAX) return false;
    *from = static_cast<uint64_t>(low), *to = static_cast<uint64_t>(high);
    return true;
  }

  Piece due(const Rules &rules) const noexcept {  // the next piece; not at_end()
    const uint64_t row = next_ / run_;
    const uint64_t left = (row / rows_ + 1) * rows_ * run_ - next_;         // contiguous in the file
    const uint64_t here = fill_ ? 0 : std::min(left, run_ - next_ % run_);  // also contiguous in memory
    Piece p;
    p.from = next_;
    p.at = file_of(next_);
    char *const m = fill_ ? nullptr : memory_of(next_);
    const uint64_t head = p.at % kBlock, whole = left / kBlock * kBlock;
    uint64_t straight = 0;  // bytes that need no buffer
    if (rules.direct && head == 0 && whole) {
      p.direct = true;
      p.bytes = std::min(whole, rules.chunk);
      const uint64_t h = reinterpret_cast<uintptr_t>(m) % kBlock == 0 ? here / kBlock * kBlock : 0;
      if (h >= std::min(whole, kLong)) straight = h;
    } else {
      p.bytes = rules.direct ? std::min(left, kBlock - head) : std::min(left, rules.chunk - head);  // ends at a block
      if (here >= std::min(p.bytes, kLong)) straight = here;
    }
    if (straight) p.memory = m, p.bytes = std::min(p.bytes, straight);
    return p;
  }
  void took(const Piece &p) noexcept { next_ += p.bytes; }  // p: from due()

  void gather(const Piece &p, char *buffer) const noexcept {
    if (!fill_) return move(p, buffer, true);
    for (uint64_t i = 0; i < p.bytes; ++i)  // in memory order, from the fill's first byte on
      buffer[i] = reinterpret_cast<const char *>(&pattern_)[(p.from + i) % 4];
  }
  void scatter(const Piece &p, char *buffer) const noexcept { move(p, buffer, false); }

 private:
  static constexpr uint64_t kLong = 1 << 16;  // rows of at least this size get their own transfer

  uint64_t file_of(uint64_t pos) const noexcept {
    const uint64_t row = pos / run_;
    return file_ + pos % run_ + static_cast<uint64_t>(file_step_[0]) * (row % n_[0]) +
           static_cast<uint64_t>(file_step_[1]) * (row / n_[0]);
  }
  char *memory_of(uint64_t pos) const noexcept {
    const auto row = static_cast<int64_t>(pos / run_), n = static_cast<int64_t>(n_[0]);
    return memory_ + pos % run_ + memory_step_[0] * (row % n) + memory_step_[1] * (row / n);
  }
  void move(const Piece &p, char *buffer, bool in) const noexcept {
    for (uint64_t done = 0; done < p.bytes;) {
      const uint64_t pos = p.from + done, n = std::min(run_ - pos % run_, p.bytes - done);
      char *const m = memory_of(pos);
      if (in)
        std::memcpy(buffer + done, m, n);
      else
        std::memcpy(m, buffer + done, n);
      done += n;
    }
  }

  bool to_file_ = false, fill_ = false;
  uint32_t pattern_ = 0;
  char *memory_ = nullptr;
  uint64_t file_ = 0, run_ = 0, n_[2] = {1, 1}, rows_ = 1, total_ = 0,
           next_ = 0;  // rows_: number contiguous in the file
  int64_t memory_step_[2] = {}, file_step_[2] = {};
};

}  // namespace disk
