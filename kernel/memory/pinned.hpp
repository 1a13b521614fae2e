// pinned.hpp — host memory for the application that drivers have made ready for their copies.
//
// Any thread: a mutex guards the list; the drivers are called one at a time, as for all [control]. What is left is
// given back when the runtime ends, after its data.
#pragma once
#include <consort/pinned.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.hpp"

namespace consort {

class Topology;
struct Device;

class PinnedMemory {
 public:
  explicit PinnedMemory(const std::unique_ptr<Topology> &topology) : topology_(topology) {}  // known when it is used
  ~PinnedMemory() { close(); }
  Result<void *> take(uint64_t bytes, uint32_t flags);  // may throw bad_alloc
  Result<uint32_t> pin(uint64_t at, uint64_t bytes);    // the application's own; how many devices; may throw bad_alloc
  bool give_back(void *, bool ours) noexcept;           // ours: take() gave it; false: it is none of those
  void close() noexcept;

 private:
  struct RelaxedValue { const Device *device; consort_addr local; };
  struct Block {
    const Device *device;                               // that it is of; null: the application's own
    uint64_t bytes;
    std::vector<RelaxedValue> shown;                           // to other devices
  };
  consort_status take_pinned(uint64_t bytes, uint32_t flags, consort_addr *, Block &);
  void show(consort_addr at, Block &);                  // to all that take it; may throw bad_alloc, with some shown
  void release(uint64_t at, const Block &) noexcept;

  const std::unique_ptr<Topology> &topology_;
  std::mutex mutex_;                                    // above topology's control()
  std::map<uint64_t, Block> blocks_;                    // by address
};

}  // namespace consort
