// block_cache.hpp — the memory of each space: its limit, the bytes in use, and a cache of freed blocks.
//
// A freed block becomes spare: it is kept for the next replica of the same size, and returns to its driver only if
// other sizes need the memory. Owned by Memory; each function is called under Memory's mutex, except those marked
// [any], whose results may be out of date.
#pragma once
#include <consort/driver.h>

#include <map>
#include <vector>

#include "base/relaxed_value.hpp"
#include "base/result.hpp"
#include "task/data.hpp"

namespace consort {

class Config;
class Topology;

class BlockCache {
 public:
  using Block = DatumExtra::Block;

  explicit BlockCache(const Topology &);
  ~BlockCache() { close(); }
  Result<void> open(const Config &);  // the setting `limits`: NAME=64M, NAME=50%
  void close() noexcept;              // returns all spare blocks to their drivers

  // [any] Returns whether memory of this space is counted. Host memory is not, unless it is limited.
  bool is_counted(uint32_t space) const noexcept { return counted_ >> space & 1; }
  bool counts_any() const noexcept { return counted_; }
  // [any] Returns whether scratch memory of tasks is taken from here. Constant after the start, so it is stable for a
  // task.
  bool grants_scratch(uint32_t space) const noexcept { return scratch_ >> space & 1; }
  uint64_t limit(uint32_t space) const noexcept { return stores_[space].limit; }  // [any] UINT64_MAX: none
  uint64_t spare(uint32_t space) const noexcept { return stores_[space].spare_bytes; }
  // [any] Bytes in use, without spare blocks.
  uint64_t taken(uint32_t space) const noexcept { return stores_[space].used - stores_[space].spare_bytes; }
  // Returns whether `bytes` more exceed the limit, if `soon` bytes in use are released.
  bool lacks(uint32_t space, uint64_t bytes, uint64_t soon = 0) const noexcept {
    return taken(space) + bytes > limit(space) + soon;
  }
  // The bytes that a replica of that datum takes there.
  uint64_t bytes_for(const Datum &, uint32_t space) const noexcept;

  // Returns a spare block of that size, or one from the driver. If the driver has less memory than reported, spare
  // blocks of other sizes are freed first. The caller checks the limit. < 0: error text set.
  consort_status take(uint32_t space, uint64_t bytes, uint64_t align, consort_addr *out) noexcept;
  void keep(const Block &) noexcept;  // makes the block spare; if no record can be allocated, returns it to the driver
  // counts memory that was allocated elsewhere
  void adopt(uint32_t space, uint64_t bytes) noexcept { stores_[space].used += bytes; }
  bool drop_spares(uint32_t space) noexcept;  // returns all spare blocks to the driver. False: there were none
  // The driver refused `bytes` beyond those in use: from now on the space is counted and its limit lies below that sum.
  void found_full(uint32_t space, uint64_t bytes) noexcept;

 private:
  using Spares = std::map<uint64_t, std::vector<Block>>;  // by size; no list is empty
  struct Store {
    RelaxedValue<uint64_t> limit = UINT64_MAX, used, spare_bytes;
    Spares spare;  // included in `used`
  };
  Result<void> read_limit(const std::string &entry);
  static bool take_spare(Store &, const consort_space_desc &, uint64_t bytes, uint64_t align, consort_addr *) noexcept;
  void give_back(const Block &) noexcept;
  void drop_spare(Store &, Spares::iterator of_its_size) noexcept;
  void drop_spares_for(Store &, uint64_t bytes) noexcept;

  const Topology &topology_;
  RelaxedValue<uint64_t> counted_, scratch_;  // by space
  std::vector<Store> stores_;
};

}  // namespace consort
