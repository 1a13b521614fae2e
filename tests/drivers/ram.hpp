// ram.hpp — the host's memory, as the drivers' tests describe it to a driver.
#pragma once
#include <consort/driver.h>

namespace consort_test {

inline consort_space_desc ram() {
  consort_space_desc s{};
  s.name = "ram", s.domain = "host", s.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  return s;
}

}  // namespace consort_test
