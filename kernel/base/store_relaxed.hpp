// store_relaxed.hpp — a relaxed atomic store to a plain word that other threads may read meanwhile.
//
// Means std::atomic_ref<T>(word).store(value, relaxed). g++ 12 compiles that to a function which takes the order as a
// value, and stores by a locked exchange since it does not know the order. The builtin compiles to one move.
#pragma once
#include <type_traits>

namespace consort {

template <class T>
[[gnu::always_inline]] inline void store_relaxed(T &word, std::type_identity_t<T> value) noexcept {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}

}  // namespace consort
