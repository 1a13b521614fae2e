// pinned.hpp — host memory for the application that drivers have made ready for their copies.
//
// Any thread: a mutex guards the list; the drivers are called one at a time, as for all [control]. What is left is
// given back when the runtime ends, after its data.
#pragma once
#include <consort/pinned.h>

#include <map>
#include <mutex>
#include <vector>

#include "base/result.hpp"

namespace consort {

struct Device;
struct DataManagement;

class PinnedMemory {
 public:
  explicit PinnedMemory(DataManagement &rt) : rt_(rt) {}
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
  void show(consort_addr at, Block &);                  // to all that take it; may throw bad_alloc, with some shown
  void release(uint64_t at, const Block &) noexcept;

  DataManagement &rt_;
  std::mutex mutex_;                                    // above topology's control()
  std::map<uint64_t, Block> blocks_;                    // by address
};

}  // namespace consort
