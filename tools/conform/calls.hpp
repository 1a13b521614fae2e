// calls.hpp — what the plugin calls out of its own file: blocking calls, memory, clocks, threads.
//
// After loading, the slots by which the file reaches other libraries are turned to functions of ours, which count and
// call on. So only what stands in the plugin's own file is seen, not what a library that it uses does for it. Memory can
// be made to end at the k-th allocation. One plugin at a time; ELF on x86-64 and AArch64, elsewhere attach() answers false.
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
    Tag tag;                     // of the function of the plugin that called
    std::string function, name;  // that function; what was called
    uint64_t count;
  };

  // False: it cannot be watched here. path: as it was given to dlopen.
  static bool attach(const std::string &path);
  static std::vector<Seen> seen();
  static void forget();
  static uint64_t allocations();                 // of this process so far
  static void fail_allocation(uint64_t k);       // counted from here; 0: none
  static bool has_failed();
};

}  // namespace conform
