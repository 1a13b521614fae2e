// store.hpp — a block of memory in some space, beside what its bytes have to be; and copies between two of them.
//
// Of the host's memory the kit allocates itself, of the driver's spaces the driver does. Owned by one case, one thread.
#pragma once
#include <consort/driver.h>

#include <vector>

#include "conform/driver/queue.hpp"

namespace conform {

class Store {
 public:
  // Filled with chance. A driver that has no room for it: skip() ends the case.
  Store(Devices &, uint32_t space, uint64_t bytes, uint32_t flags = 0, bool filled = true);
  ~Store();
  Store(const Store &) = delete;
  Store &operator=(const Store &) = delete;

  uint32_t space() const { return space_; }
  uint64_t bytes() const { return model.size(); }
  consort_addr at(uint64_t off = 0) const { return {addr_.base, addr_.off + off}; }
  void fill(Random &);                           // the model
  void write();                                  // puts the model there
  std::vector<uint8_t> read();
  // Is all as the model says? Tells the first byte that is not.
  bool holds(const char *after);

  std::vector<uint8_t> model;

 private:
  void carry(bool in, uint8_t *bytes);

  Devices &devices_;
  Trial &t_;
  uint32_t space_;
  consort_addr addr_{};
};

// Rows and slices of chance from one to the other, as the link can take them in one op; `plain`: one run.
consort_copy random_copy(Random &, const Devices::Link &, const Store &src, const Store &dst, bool plain);
// What memcpy would do to the model of dst.
void apply(const consort_copy &, const Store &src, Store &dst);
uint64_t bytes_of(const consort_copy &);
std::string text_of(const consort_copy &);

}  // namespace conform
