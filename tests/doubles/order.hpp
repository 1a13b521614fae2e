// The order of operations on the simulated machine, and the bytes that each touches. Each stream counts its operations;
// a clock says, for each other stream, up to which count its owner knows it to be done. Two operations that touch the
// same bytes, one of them writing, must be ordered: the later one's clock has the earlier one's count.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gpu {

struct Stream;

// A box of bytes: `planes` planes of `rows` rows of `width` bytes.
struct Region {
  uint64_t address = 0;
  size_t width = 0, rows = 1, pitch = 0, planes = 1, plane_pitch = 0;

  uint64_t end() const {
    return width && rows && planes ? address + (planes - 1) * plane_pitch + (rows - 1) * pitch + width : address;
  }
};

bool overlap(const Region &a, const Region &b);

// `unknown` is a kernel's access by a pointer of which nothing is known: only a write beside it is certainly an error.
enum class Mode { read, write, unknown };

struct Touch {
  Region region;
  Mode mode = Mode::read;
};

inline bool conflict(const Touch &a, const Touch &b) {
  return (a.mode == Mode::write || b.mode == Mode::write) && overlap(a.region, b.region);
}

// By the streams' numbers, which are never reused. Knowledge that all live streams share is not kept in each clock.
using Clock = std::map<uint64_t, uint64_t>;

void join(Clock &into, const Clock &other);

struct Access {  // of a block, by an operation
  Touch touch;
  std::shared_ptr<Stream> stream;
  uint64_t serial = 0;
  std::string what;
};

}  // namespace gpu
