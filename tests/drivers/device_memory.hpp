// device_memory.hpp — the limits of any device's memory, and refusals there.
#pragma once
#include "drivers/device_machine.hpp"

namespace consort_test {

// m: with a limit of 1 MiB. beyond: an alignment that the device cannot give.
inline void memory_ends_where_the_limit_is(DeviceMachine &m, uint64_t beyond) {
  consort_addr a{}, b{};
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 700 << 10, 64, 0, &a), CONSORT_OK);
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 700 << 10, 64, 0, &b), CONSORT_E_NOMEM);
  EXPECT_NE(m.plugin.failure().find("out of memory: 716800 bytes"), std::string::npos) << m.plugin.failure();
  m.ops->free(m.dev, m.own(), a, 700 << 10);
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 700 << 10, 64, 0, &b), CONSORT_OK) << m.plugin.failure();
  m.ops->free(m.dev, m.own(), b, 700 << 10);
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), UINT64_MAX - 3, 64, 0, &b), CONSORT_E_NOMEM);
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 0, 64, 0, &b), CONSORT_E_INVAL);
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 64, 48, 0, &b), CONSORT_E_INVAL);
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 64, 64, CONSORT_AL_EXPORT, &b), CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 64, beyond, 0, &b), CONSORT_E_UNSUPPORTED);
}

}  // namespace consort_test
