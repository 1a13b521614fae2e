// allowance.hpp — how much of the machine this process may use: the cgroup's CPU quota, the thread's affinity.
//
// Plain functions that read files and ask the system; nothing is kept. For [control] calls. Files are looked up
// below `root` ("/" but in tests), so that a test can show a quota that is not there.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cpu {

// CPUs' worth of time that the tightest of the process's control groups (v2 cpu.max, v1 cfs quota) grants, 0: no limit.
double cgroup_quota(const std::string &root);

// Of the calling thread: bit i = OS cpu i. Empty: the system does not say.
std::vector<uint64_t> thread_affinity();

// Bytes of RAM according to /proc/meminfo, 0: unknown.
uint64_t memory_total(const std::string &root);

// "0-3,8" → {0, 1, 2, 3, 8}. False: not such a list.
bool parse_list(const std::string &text, std::vector<uint32_t> &out);

}  // namespace cpu
