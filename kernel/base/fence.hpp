// fence.hpp — an asymmetric store-load fence: cheap on the frequent side, expensive on the rare side.
//
// Two threads each store one word and then load the other's; at least one must see the other's store. The frequent side
// calls light() between its store and its load, the rare side heavy(). If the operating system offers an expedited
// barrier over the process's threads, light() is only a compiler fence. Otherwise both are full fences. The choice is
// made at the first use of the library, holds for every thread and is the only state here.
#pragma once
#include <atomic>

namespace consort::fence {

bool asymmetric() noexcept;  // true: heavy() reaches other threads, and light() costs nothing
void heavy() noexcept;

// seq_cst: a compiler fence if heavy() makes each core execute a fence, else a processor fence.
inline void light(bool asymmetric) noexcept {
  if (asymmetric) [[likely]] std::atomic_signal_fence(std::memory_order_seq_cst);
  else std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace consort::fence
