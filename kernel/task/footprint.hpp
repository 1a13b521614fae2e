// footprint.hpp — the size of a task: of what its data are, which tasks are alike.
//
// Any thread that may look at the task's data: one that owns the task, or a policy where the task waits.
#pragma once
#include <cstdint>

namespace consort {

struct Task;

// As it was submitted; else of its data's sizes, in their order, without those that say M_NOFOOTPRINT. Never 0. Of a
// task that no queue has taken yet.
uint64_t footprint_of(const Task &) noexcept;
bool has_own_footprint(const Task &) noexcept;  // it was submitted with one

uint64_t work_of(const Task &) noexcept;        // 0 unknown

constexpr uint64_t mix(uint64_t sum, uint64_t next) noexcept {
  sum = (sum ^ next) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 29;
}

}  // namespace consort
