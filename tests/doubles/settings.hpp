// The properties of the simulated machine and its injected failures: read from one line of words,
// "devices=2,memory=256M,...". README.md lists the words.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gpu {

enum class Peers { all, none, ring };

struct Injected {  // the result of a function, or of its operation
  std::string function;
  uint64_t nth = 0;
  bool onwards = false;  // from the nth on
  int code = 0;
};

struct Settings {
  int devices = 1;
  size_t memory = size_t{256} << 20;  // of each device
  uint64_t latency_us = 0;            // of each operation
  uint64_t bandwidth = 0;             // bytes a second of a copy; 0: as fast as the host is
  Peers peers = Peers::all;
  std::map<int, std::pair<uint64_t, int>> lost;  // device: after so many operations, with this code
  std::vector<Injected> fails, faults;
  std::vector<uint64_t> oom, pinned_oom;  // the nth allocation is refused
  int init = 0;
  uint64_t seed = 1;
  uint64_t jitter = 0;
  std::vector<int> sms = {16};  // of device 0, 1, ...; those without a number have the last one
  bool quiet = false;  // violations are counted and not printed

  // On a bad word `error` names it and the valid ones.
  static bool parse(std::string_view text, Settings &out, std::string &error);
};

// A function's name without the version that its header adds: cuMemAlloc_v2 is cuMemAlloc.
std::string_view base_name(std::string_view function);

}  // namespace gpu
