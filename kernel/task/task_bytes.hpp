// task_bytes.hpp — the sum of the bytes of a task's data, exact; each datum counts once, however often it is named.
//
// Pure; for a thread that owns the task, whose data do not change size before its end.
#pragma once
#include <consort/scheduler.h>

#include <algorithm>

namespace consort {

inline uint64_t task_bytes(const consort_task &t) noexcept {
  uint64_t sum = 0;
  for (const consort_access *a = t.access, *end = a + t.naccess, *p = a; p < end; ++p)
    if (std::none_of(a, p, [&](const consort_access &before) { return before.datum == p->datum; }))
      sum += p->datum->bytes;
  return sum;
}

}  // namespace consort
