// Memory of the simulated machine: allocations by address. A device's memory is a range of the host's address space
// that belongs to it alone. A block's bytes are poisoned when it is made and when it goes. A guard stands behind it.
// The caller of every function here holds the machine's lock.
#pragma once
#include <list>
#include <mutex>

#include "handles.hpp"
#include "order.hpp"

namespace gpu {

struct Context;
struct Device;
using Lock = std::unique_lock<std::mutex>;

struct Pool : Object {
  int device = 0;
  bool own = false;  // made by the application, not the device's own one
  size_t threshold = 0, used = 0, reserved = 0, used_high = 0, reserved_high = 0, most = 0;
  int reuse[3] = {1, 1, 1};
  std::map<int, unsigned> access;  // by other devices
  bool closing = false;
};

enum class Where { device, pinned, registered };

struct Block {
  uint64_t address = 0;
  size_t size = 0;
  Where where = Where::device;
  int device = 0;
  uint64_t id = 0;
  unsigned flags = 0;
  std::shared_ptr<Context> context;
  std::shared_ptr<Pool> pool;
  std::vector<Access> accesses;
  bool going = false;  // its free is in a stream, or waits for its users
  bool for_good = false;
  bool lent = false;  // of a graphics resource while it is mapped: not to be freed

  Region all() const { return {address, size, 1, size, 1, size}; }
  std::string words() const;  // "device block 0x… of 64 bytes"
};

// The range of addresses of one device. Freed memory is reused as late as can be.
class Arena {
 public:
  explicit Arena(size_t memory);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  uint64_t take(size_t size);  // 0: no hole is large enough
  void give(uint64_t address, size_t size);
  bool has(uint64_t address) const { return address >= base && address < base + length; }
  bool was_freed(uint64_t address) const;

 private:
  uint64_t base = 0;
  size_t length = 0;
  uint64_t cursor = 0;
  std::map<uint64_t, size_t> holes, freed;
};

class Memory {
 public:
  std::map<uint64_t, std::shared_ptr<Block>> blocks;  // by address

  std::shared_ptr<Block> find(uint64_t address) const;   // the block that has this byte
  bool free_range(uint64_t address, size_t size) const;  // nothing is there
  // These throw out_of_memory.
  std::shared_ptr<Block> take(Device &device, size_t size, const std::shared_ptr<Pool> &pool);
  std::shared_ptr<Block> take_pinned(size_t size);
  std::shared_ptr<Block> take_registered(void *address, size_t size);
  void give(const std::shared_ptr<Block> &block);  // nothing uses it any more
  size_t used(const Device &device) const;         // the bytes that count against its memory

 private:
  uint64_t next_id = 0;
  uint64_t device_takes = 0, pinned_takes = 0;
};

void poison(uint64_t address, size_t size, int byte);

// Spare memory of pools is released, as far as they allow.
void trim(Pool &pool, size_t keep);

}  // namespace gpu
