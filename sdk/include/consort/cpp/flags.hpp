// consort/cpp/flags.hpp — the choices that calls take: enum classes, and sets of their values.
//
// Part of consort.hpp; include that. Values; nothing throws.
#ifndef CONSORT_CPP_FLAGS_HPP
#define CONSORT_CPP_FLAGS_HPP
#include <consort/consort.h>
#include <consort/memory.h>

#include <cstdint>

namespace consort::inline face {

// How a wait goes about it: task.wait(Wait::no_help | Wait::keep_failure).
enum class Wait : uint32_t {
  no_help = CONSORT_WAIT_NO_HELP,            // the waiting thread runs no task meanwhile
  keep_failure = CONSORT_WAIT_KEEP_FAILURE,  // the failure that is thrown stays untold: a later wait throws it again
};
// What a prefetch brings.
enum class Bring : uint32_t {
  contents = 0,
  room = CONSORT_PREFETCH_ROOM,  // only memory, for a task that will write the datum whole
};
// What a datum has in a space: Data::replica().
enum class Replica : uint32_t {
  room = CONSORT_IN_ROOM,      // memory
  valid = CONSORT_IN_VALID,    // and its contents are in it
  coming = CONSORT_IN_COMING,  // contents are on their way there
};
// Given to Data::partition(): tasks may read the parts and not write them.
struct ReadOnly {
  explicit ReadOnly() = default;
};
inline constexpr ReadOnly read_only{};

// A set of values of an enum class.
template <class E>
class Flags {
 public:
  constexpr Flags() noexcept = default;                                      // The empty set.
  constexpr Flags(E one) noexcept : bits_(static_cast<uint32_t>(one)) {}     // Of one value.
  [[deprecated("give a value of the enum class, as in consort::Wait::no_help, in place of the C constant")]]
  constexpr Flags(uint32_t bits) noexcept : bits_(bits) {}
  constexpr uint32_t bits() const noexcept { return bits_; }                 // As the C API has them.
  // Whether `one` is among them.
  constexpr bool has(E one) const noexcept { return (bits_ & static_cast<uint32_t>(one)) != 0; }
  // Both sets together.
  friend constexpr Flags operator|(Flags a, Flags b) noexcept {
    a.bits_ |= b.bits_;
    return a;
  }
  friend constexpr bool operator==(Flags a, Flags b) noexcept { return a.bits_ == b.bits_; }
  // Of the bits that a call of the C API has answered.
  static constexpr Flags of(uint32_t bits) noexcept {
    Flags f;
    f.bits_ = bits;
    return f;
  }

 private:
  uint32_t bits_ = 0;
};
// Returns both flags.
constexpr Flags<Wait> operator|(Wait a, Wait b) noexcept { return Flags<Wait>(a) | Flags<Wait>(b); }
// Returns both flags.
constexpr Flags<Replica> operator|(Replica a, Replica b) noexcept { return Flags<Replica>(a) | Flags<Replica>(b); }

}  // namespace consort::inline face
#endif
