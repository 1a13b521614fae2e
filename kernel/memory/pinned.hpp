// pinned.hpp — pinned host memory of the application, prepared by drivers for their copies.
//
// Any thread: a mutex guards the list; drivers are called one at a time, as in all [control] functions. Remaining
// memory is returned when the runtime ends, after its data.
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
  explicit PinnedMemory(const std::unique_ptr<Topology> &topology) : topology_(topology) {}  // valid at the first use
  ~PinnedMemory() { close(); }
  Result<void *> take(uint64_t bytes, uint32_t flags);  // may throw bad_alloc
  // the application's own memory; returns the number of devices; may throw bad_alloc
  Result<uint32_t> pin(uint64_t at, uint64_t bytes);
  bool give_back(void *, bool ours) noexcept;           // ours: from take(); false: unknown memory
  void close() noexcept;

 private:
  struct RelaxedValue { const Device *device; consort_addr local; };
  struct Block {
    const Device *device;                               // its owner; null: the application
    uint64_t bytes;
    std::vector<RelaxedValue> shown;                           // registrations at other devices
  };
  consort_status take_pinned(uint64_t bytes, uint32_t flags, consort_addr *, Block &);
  // registers it with all devices that support that; may throw bad_alloc after some registrations
  void show(consort_addr at, Block &);
  void release(uint64_t at, const Block &) noexcept;

  const std::unique_ptr<Topology> &topology_;
  std::mutex mutex_;                                    // above the topology's control()
  std::map<uint64_t, Block> blocks_;                    // by address
};

}  // namespace consort
