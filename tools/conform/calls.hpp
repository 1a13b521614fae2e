// calls.hpp — watches the calls out of the plugin's file: blocking calls, memory, clocks, threads.
//
// After loading, the slots by which the file calls other libraries are redirected to functions of the kit, which count
// and call on. So only calls of the plugin's own file are seen, not those of a library that it uses. The k-th
// allocation can be made to fail. One plugin at a time; ELF on x86-64 and AArch64, elsewhere attach() returns false.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "conform/host.hpp"

namespace conform {

class Calls {
 public:
  enum Kind { kMemory, kBlocking, kClock, kThread, kChance };
  struct Seen {
    Kind kind;
    Tag tag;                     // of the plugin's function that made the call
    std::string function, name;  // the plugin's function; the called function
    uint64_t count;
  };

  // Returns false if calls cannot be watched here. path: as passed to dlopen.
  static bool attach(const std::string &path);
  static std::vector<Seen> seen();
  static void forget();
  static uint64_t allocations();                 // of this process so far
  static void fail_allocation(uint64_t k);       // counted from this call; 0: none
  static bool has_failed();
};

}  // namespace conform
