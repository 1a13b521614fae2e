// ring.hpp — the least that a scheduler can be: what both plugins of this benchmark do.
#pragma once
#include <consort/scheduler.h>

#include <algorithm>
#include <cstdint>

namespace crossing {

struct Ring {
  static constexpr uint32_t kRoom = 64;
  consort_task *slot[kRoom];
  uint32_t head = 0, tail = 0;
  uint64_t epoch = 0;

  uint32_t push(const consort_push &p) noexcept {
    if (p.epoch != epoch) return 0;
    for (uint32_t i = 0; i < p.n; ++i) slot[tail++ % kRoom] = p.ready[i];
    return p.n;
  }
  uint32_t pop(consort_pick *out, uint32_t max) noexcept {
    const uint32_t n = std::min(max, tail - head);
    for (uint32_t i = 0; i < n; ++i) out[i] = {slot[head++ % kRoom], CONSORT_NONE, CONSORT_NONE};
    return n;
  }
};

}  // namespace crossing
