#include "task/core.hpp"

namespace consort {

uint64_t Core::submitted() const noexcept {  // a count moving from turn to before is seen at least once
  uint64_t sum = 0;
  for_each_thread([&](const ThreadState &thread) {
    sum += thread.in.turn.load(std::memory_order_acquire) & Tally::kCount;
    sum += thread.in.before.load(std::memory_order_acquire);
  });
  return sum;
}

uint64_t Core::finished() const noexcept {  // a moving count is seen at most once
  uint64_t sum = 0;
  for_each_thread([&](const ThreadState &thread) {
    sum += thread.out.before.load(std::memory_order_acquire);
    sum += thread.out.turn.load(std::memory_order_acquire) & Tally::kCount;
  });
  return sum;
}

}  // namespace consort
