// allowance.hpp — the share of the machine that this process may use: the cgroup's CPU quota, the thread's affinity.
//
// Stateless functions that read files and query the system. For [control] calls. Files are looked up
// below `root` ("/" except in tests), so that a test can present any quota.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cpu {

// Returns the CPU time, in CPUs, that the tightest of the process's control groups (v2 cpu.max, v1 cfs quota) grants; 0: no limit.
double cgroup_quota(const std::string &root);

// Returns the affinity of the calling thread: bit i = OS cpu i. Empty: unknown.
std::vector<uint64_t> thread_affinity();

// Returns the bytes of RAM in /proc/meminfo, 0: unknown.
uint64_t memory_total(const std::string &root);

// "0-3,8" → {0, 1, 2, 3, 8}. False: not a list of this form.
bool parse_list(const std::string &text, std::vector<uint32_t> &out);

}  // namespace cpu
