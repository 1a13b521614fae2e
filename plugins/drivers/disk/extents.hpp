// extents.hpp — allocator of ranges of a file: allocates, frees, merges neighbours.
//
// One per file; its owner serialises calls. First fit from the start, so the file grows as little as possible. It does no I/O.
#pragma once
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace disk {

class Extents {
 public:
  Extents() = default;
  Extents(uint64_t capacity, uint64_t granule) : capacity_(capacity / granule * granule), granule_(granule) {
    if (capacity_) free_.emplace(0, capacity_);
  }

  // bytes > 0, align a power of two. Empty: no free range is large enough. Throws bad_alloc without changes.
  std::optional<uint64_t> take(uint64_t bytes, uint64_t align) {
    if (bytes > capacity_) return std::nullopt;
    const uint64_t whole = (bytes + granule_ - 1) / granule_ * granule_;
    if (align < granule_) align = granule_;
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const uint64_t start = (it->first + align - 1) / align * align, end = it->first + it->second;
      if (start < it->first || start > end || end - start < whole) continue;
      const uint64_t rest = end - start - whole;
      taken_.emplace(start, whole);
      if (rest) {
        try {
          free_.emplace(start + whole, rest);
        } catch (...) {
          taken_.erase(start);
          throw;
        }
      }
      if (start == it->first)
        free_.erase(it);
      else
        it->second = start - it->first;
      used_ += whole;
      return start;
    }
    return std::nullopt;
  }

  // Returns the size of the freed range; 0: no range begins there. Allocates nothing.
  uint64_t give_back(uint64_t start) noexcept {
    auto node = taken_.extract(start);
    if (node.empty()) return 0;
    const uint64_t bytes = node.mapped();
    used_ -= bytes;
    auto at = free_.insert(std::move(node)).position;
    if (const auto next = std::next(at); next != free_.end() && next->first == at->first + at->second) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at != free_.begin()) {
      const auto before = std::prev(at);
      if (before->first + before->second == at->first) {
        before->second += at->second;
        free_.erase(at);
      }
    }
    return bytes;
  }

  // Whether [from, to) lies inside one allocated range.
  bool holds(uint64_t from, uint64_t to) const noexcept {
    auto it = taken_.upper_bound(from);
    if (it == taken_.begin() || from > to) return false;
    --it;
    return to <= it->first + it->second;
  }

  uint64_t capacity() const noexcept { return capacity_; }
  uint64_t used() const noexcept { return used_; }
  size_t taken() const noexcept { return taken_.size(); }
  size_t pieces() const noexcept { return free_.size(); }  // number of free ranges: 1 if unfragmented

 private:
  uint64_t capacity_ = 0, granule_ = 1, used_ = 0;
  std::map<uint64_t, uint64_t> free_, taken_;  // start, bytes
};

}  // namespace disk
