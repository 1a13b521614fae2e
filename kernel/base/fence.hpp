// fence.hpp — a store-load fence whose cost falls on the side that is rarely there.
//
// Two threads each store one word and then load the other's; at least one must see the other's store. The
// frequent side calls light() between its store and its load, the rare side heavy(). Where the operating
// system offers an expedited barrier over the process's threads, light() only holds the compiler back;
// elsewhere both are full fences. Which it is was settled when the library was loaded first, and is the same
// for every thread. Stateless but for that answer.
#pragma once
#include <atomic>

namespace consort::fence {

bool asymmetric() noexcept;  // heavy() reaches other threads, light() is free
void heavy() noexcept;

// seq_cst: a compiler's fence, if heavy() makes each core pass one of its own, else the processor's.
inline void light(bool asymmetric) noexcept {
  if (asymmetric) [[likely]] std::atomic_signal_fence(std::memory_order_seq_cst);
  else std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace consort::fence
