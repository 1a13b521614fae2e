// store.hpp — a block of memory in a space, with a model of its expected bytes; and copies between two blocks.
//
// The kit allocates host memory itself, the driver memory of its spaces. Owned by one case and one thread.
#pragma once
#include <consort/driver.h>

#include <vector>

#include "conform/driver/queue.hpp"

namespace conform {

class Store {
 public:
  // Filled with random bytes. Skips the case if the driver has no room.
  Store(Devices &, uint32_t space, uint64_t bytes, uint32_t flags = 0, bool filled = true);
  // A part of a block that the caller has allocated, and frees after this. Filled with random bytes.
  Store(Devices &, uint32_t space, consort_addr part, uint64_t bytes);
  ~Store();
  Store(const Store &) = delete;
  Store &operator=(const Store &) = delete;

  uint32_t space() const { return space_; }
  uint64_t bytes() const { return model.size(); }
  consort_addr at(uint64_t off = 0) const { return {addr_.base, addr_.off + off}; }
  void fill(Random &);                           // fills the model
  void write();                                  // writes the model to the block
  std::vector<uint8_t> read();
  // Returns whether the block equals the model. Reports the first byte that does not.
  bool holds(const char *after);
  // Are the bytes that this copy has to put here as the model says, right now? Without a copy of the kit's own: true
  // where the CPU cannot load them.
  bool has_arrived(const consort_copy &) const;

  std::vector<uint8_t> model;

 private:
  void carry(bool in, uint8_t *bytes);

  Devices &devices_;
  Trial &t_;
  uint32_t space_;
  consort_addr addr_{};
  bool is_part_ = false;
};

// A random copy of rows and slices that the link can do in one op; `plain`: one run.
consort_copy random_copy(Random &, const Devices::Link &, const Store &src, const Store &dst, bool plain);
// Applies the copy to the model of dst, as memcpy would.
void apply(const consort_copy &, const Store &src, Store &dst);
uint64_t bytes_of(const consort_copy &);
std::string text_of(const consort_copy &);

}  // namespace conform
