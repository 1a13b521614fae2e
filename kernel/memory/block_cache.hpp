// block_cache.hpp — the memory of each space: how much of it may be used, what is in use, and blocks that were freed.
//
// A freed block becomes spare: it stays with the runtime for the next replica of the same size, and goes back to its
// driver only as far as other sizes need the room. Owned by Memory; each function is called under Memory's mutex, but for
// what says [any], which may be read at any time and is of a moment ago.
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
  void close() noexcept;              // all spare blocks go to their drivers

  // [any] Is memory of this space counted? Not the host's own, unless it is limited.
  bool is_counted(uint32_t space) const noexcept { return counted_ >> space & 1; }
  // [any] Is memory without contents for a task taken from here? Fixed at the start, so it does not change under a task.
  bool grants_scratch(uint32_t space) const noexcept { return scratch_ >> space & 1; }
  uint64_t limit(uint32_t space) const noexcept { return stores_[space].limit; }  // [any] UINT64_MAX: none
  uint64_t spare(uint32_t space) const noexcept { return stores_[space].spare_bytes; }
  // [any] Bytes in use; spare blocks are not.
  uint64_t taken(uint32_t space) const noexcept { return stores_[space].used - stores_[space].spare_bytes; }
  // Is the limit exceeded with so many bytes more, if `soon` of those in use go?
  bool lacks(uint32_t space, uint64_t bytes, uint64_t soon = 0) const noexcept {
    return taken(space) + bytes > limit(space) + soon;
  }
  // What a replica of that datum takes there.
  uint64_t bytes_for(const Datum &, uint32_t space) const noexcept;

  // A block: a spare one of that size, or from the driver; where that has less than it said, spares of other sizes go
  // first. Whether the limit allows it is the caller's to know. < 0: told.
  consort_status take(uint32_t space, uint64_t bytes, uint64_t align, consort_addr *out) noexcept;
  void keep(const Block &) noexcept;  // it becomes spare; without memory for its record it goes back to its driver
  void adopt(uint32_t space, uint64_t bytes) noexcept { stores_[space].used += bytes; }  // in use, and taken elsewhere
  bool drop_spares(uint32_t space) noexcept;  // all of them, to the driver. False: there were none
  // The driver refused so many bytes more than are in use: from now on the space is counted, and that is beyond its limit.
  void found_full(uint32_t space, uint64_t bytes) noexcept;

 private:
  using Spares = std::map<uint64_t, std::vector<Block>>;  // by size; none of them is empty
  struct Store {
    RelaxedValue<uint64_t> limit = UINT64_MAX, used, spare_bytes;
    Spares spare;  // counted in `used`
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
