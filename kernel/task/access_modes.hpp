// access_modes.hpp — how a task uses a datum: which combinations of CONSORT_M_* there are.
#pragma once
#include <consort/driver.h>

namespace consort {

inline constexpr uint32_t kMostUses = 4096;  // data of one task
inline constexpr uint32_t kHints = CONSORT_M_LOCALITY | CONSORT_M_NOFOOTPRINT | CONSORT_M_FIXED_TREE;

// Hints set aside: is it one of the modes?
constexpr bool is_mode(uint32_t mode) noexcept {
  switch (mode & ~kHints) {
    case CONSORT_M_R: case CONSORT_M_W: case CONSORT_M_RW: case CONSORT_M_SCRATCH: case CONSORT_M_REDUX:
    case CONSORT_M_RW | CONSORT_M_COMMUTE: case CONSORT_M_W | CONSORT_M_COMMUTE: return true;
    default: return false;
  }
}

}  // namespace consort
