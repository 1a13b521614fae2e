// near.hpp — the host cores and NUMA node near a PCI device, as reported by Linux.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace gpu {

struct Near {
  int32_t numa = -1;
  std::vector<uint64_t> cpus;  // bit i: core i; empty: unknown
};

// "0-3,8,10-11"
inline std::vector<uint64_t> cpus_of(const char *list) {
  std::vector<uint64_t> bits;
  constexpr unsigned long kMost = 1 << 16;
  while (*list >= '0' && *list <= '9') {
    char *end = nullptr;
    const unsigned long first = std::strtoul(list, &end, 10);
    unsigned long last = first;
    if (*end == '-') last = std::strtoul(end + 1, &end, 10);
    for (unsigned long c = first; c <= last && c < kMost; ++c) {
      if (bits.size() <= c / 64) bits.resize(c / 64 + 1);
      bits[c / 64] |= uint64_t{1} << c % 64;
    }
    list = *end == ',' ? end + 1 : end;
  }
  return bits;
}

// bus_id: "0000:3B:00.0", in any case of letters.
inline Near near(std::string bus_id) {
  Near n;
  for (char &c : bus_id) c = static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c);
  const auto line = [&](const char *what) {
    char text[4096] = "";
    if (FILE *f = std::fopen(("/sys/bus/pci/devices/" + bus_id + "/" + what).c_str(), "re")) {
      if (!std::fgets(text, sizeof text, f)) *text = 0;
      std::fclose(f);
    }
    return std::string(text);
  };
  if (bus_id.empty() || bus_id.find('/') != std::string::npos) return n;
  const std::string node = line("numa_node");
  if (!node.empty()) n.numa = std::atoi(node.c_str());
  n.cpus = cpus_of(line("local_cpulist").c_str());
  return n;
}

}  // namespace gpu
