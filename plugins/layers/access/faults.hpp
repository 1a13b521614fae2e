// faults.hpp — the process's handler of memory faults: asks the instances of the layer, then the handler before it.
//
// Installed with the first instance, taken out with the last, unless another handler was set on top.
#pragma once
#include <csignal>
#include <cstdint>

namespace access_check {

struct Fault {
  uintptr_t address;
  bool write, read;  // both: the instruction reads what it writes
};

// One instance. handle() is called in the handler: it may lock, call mprotect, and nothing that allocates.
class Handler {
 public:
  virtual bool handle(const Fault &) noexcept = 0;  // false: not an address of its own

 protected:
  ~Handler() = default;
};

bool add_handler(Handler &) noexcept;  // false: too many
void remove_handler(Handler &) noexcept;

}  // namespace access_check
