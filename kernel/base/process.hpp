// process.hpp — what a process must remember across runtimes: which are alive, and the shells that hosts hold.
//
// A host never holds a Runtime but a shell, a few words that are cleared at the stop and not used again for the next
// thousands of starts: a call on a stopped runtime is told so. Shells lie on pages that a fork empties in the
// child, so a child finds all its parent's runtimes stopped, at no cost to anybody else. Process-wide because a
// pointer that a host kept has no other place to be looked up; trivially built, never torn down, one mutex (leaf).
#pragma once
#include <consort/consort.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace consort {
struct Runtime;
struct ThreadState;
}  // namespace consort

// A shell. `live` is what a call looks at first: the runtime, as long as every call may enter. Where it is nullptr,
// `state` says which may: the runtime's address and a phase in its lowest bits. 0: stopped, or another process's.
struct consort_runtime {
  enum Phase : uintptr_t {
    kOpen,      // every call may enter
    kDraining,  // a stop waits for the tasks: calls of bodies and callbacks, and those that begin nothing
    kClosing,   // nothing is pending: those calls wait until it is settled which of the neighbours comes next
    kClosed,    // none; the data go home
    kGone       // none; the runtime's memory is being given back. The address is 0 by then
  };
  static constexpr uintptr_t kPhase = 7;

  std::atomic<consort::Runtime *> live;  // release in open_shell() pairs with ApiCall::mark()
  std::atomic<uintptr_t> state;  // release in set_phase() pairs with ApiCall::enter()
  std::atomic<uint64_t> stops;  // how many runtimes of this shell have ended; release in end_stop() pairs with acquire

  static consort::Runtime *runtime(uintptr_t s) noexcept { return reinterpret_cast<consort::Runtime *>(s & ~kPhase); }
  static Phase phase(uintptr_t s) noexcept { return static_cast<Phase>(s & kPhase); }
};

namespace consort::process {

inline constexpr size_t kShells = 4096;           // stopped ones rest until all others were used
extern consort_runtime *all_shells;               // kShells of them; nullptr: no runtime was ever started

consort_runtime *open_shell(Runtime *) noexcept;  // nullptr: no memory
// The calling thread is the one that stops the runtime; false: another one is.
bool begin_stop(consort_runtime *) noexcept;
void set_phase(consort_runtime *, consort_runtime::Phase) noexcept;  // of a runtime that is stopping
void end_stop(consort_runtime *) noexcept;        // after kGone: the runtime has ended
void cancel_stop(consort_runtime *) noexcept;     // before kGone: the runtime goes on
bool is_shell(const consort_runtime *) noexcept;  // was it ever one of ours?

uint64_t next_number() noexcept;                  // of a runtime
void enter(uint64_t number) noexcept;             // the runtime is alive
void leave(uint64_t number) noexcept;
bool is_alive(uint64_t number) noexcept;
// Runs f under the lock if the runtime is alive.
void if_alive(uint64_t number, void (*f)(ThreadState &), ThreadState &) noexcept;

}  // namespace consort::process
