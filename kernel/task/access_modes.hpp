// access_modes.hpp — the access modes of a task: the valid combinations of CONSORT_M_*.
#pragma once
#include <consort/driver.h>

namespace consort {

inline constexpr uint32_t kMostUses = 4096;  // limit of data of one task
inline constexpr uint32_t kHints = CONSORT_M_LOCALITY | CONSORT_M_NOFOOTPRINT | CONSORT_M_FIXED_TREE;

// Returns whether the mode, without hints, is valid.
constexpr bool is_mode(uint32_t mode) noexcept {
  switch (mode & ~kHints) {
    case CONSORT_M_R: case CONSORT_M_W: case CONSORT_M_RW: case CONSORT_M_SCRATCH: case CONSORT_M_REDUX:
    case CONSORT_M_RW | CONSORT_M_COMMUTE: case CONSORT_M_W | CONSORT_M_COMMUTE: return true;
    default: return false;
  }
}

}  // namespace consort
