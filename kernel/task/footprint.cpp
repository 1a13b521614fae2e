#include "task/footprint.hpp"

#include "task/data.hpp"

namespace consort {

bool has_own_footprint(const Task &t) noexcept {
  return std::atomic_ref<uint64_t>(const_cast<Task &>(t).pub.footprint).load(std::memory_order_relaxed) != 0;
}

uint64_t footprint_of(const Task &t) noexcept {
  // For a task that runs again the field holds its ticket.
  const bool issued = t.word.load(std::memory_order_relaxed) & word::kIssued;
  if (const uint64_t given = issued ? 0 :
          std::atomic_ref<uint64_t>(const_cast<Task &>(t).pub.footprint).load(std::memory_order_relaxed))
    return given;
  uint64_t sum = t.pub.naccess + 1u;
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const consort_access &a = t.pub.access[i];
    if (a.mode & CONSORT_M_NOFOOTPRINT) continue;
    const Datum &d = *Datum::of(a.datum);
    sum = mix(sum, d.layout ? d.layout->ops->footprint(d.shape()) : d.pub.bytes);
  }
  return sum ? sum : 1;
}

uint64_t work_of(const Task &t) noexcept { return t.extra ? t.extra->work : 0; }

}  // namespace consort
