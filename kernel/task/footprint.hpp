// footprint.hpp — the footprint of a task: a hash of its data's sizes, by which alike tasks are recognized.
//
// Any thread that may read the task's data: one that owns the task, or a policy in which the task waits.
#pragma once
#include <cstdint>

namespace consort {

struct Task;

// The footprint given at the submission; else computed from the sizes of its data, in order, without those with
// M_NOFOOTPRINT. Never 0. Precondition: the task is in no queue.
uint64_t footprint_of(const Task &) noexcept;
bool has_own_footprint(const Task &) noexcept;  // it was given at the submission

uint64_t work_of(const Task &) noexcept;        // 0: unknown

constexpr uint64_t mix(uint64_t sum, uint64_t next) noexcept {
  sum = (sum ^ next) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 29;
}

}  // namespace consort
