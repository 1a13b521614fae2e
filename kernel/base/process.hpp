// process.hpp — process-wide state: the list of live runtimes, and the shells that hosts hold.
//
// A host holds a shell, never a Runtime. A shell is a few words, cleared at the stop and not reused for the next
// thousands of starts. So a call on a stopped runtime returns an error. Shells lie on pages that a fork empties in the
// child. A child finds all runtimes of its parent stopped, at no cost to other calls. The state is process-wide because
// a pointer kept by a host can be looked up nowhere else. Trivially constructed, never destroyed; one mutex (leaf).
#pragma once
#include <consort/consort.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace consort {
struct Runtime;
struct ThreadState;
}  // namespace consort

// A shell. A call reads `live` first: the runtime, while every call may enter. If it is nullptr, `state` decides: the
// runtime's address with a phase in its lowest bits. 0: stopped, or a runtime of another process.
struct consort_runtime {
  enum Phase : uintptr_t {
    kOpen,      // every call may enter
    kDraining,  // a stop waits for the tasks: calls from bodies and callbacks may enter, and calls that start no work
    kClosing,   // nothing is pending: those calls wait until the next phase is known
    kClosed,    // no call may enter; data return home
    kGone       // no call may enter; the runtime's memory is being freed. The address is 0 by then
  };
  static constexpr uintptr_t kPhase = 7;

  std::atomic<consort::Runtime *> live;  // release in open_shell() pairs with ApiCall::mark()
  std::atomic<uintptr_t> state;  // release in set_phase() pairs with ApiCall::enter()
  std::atomic<uint64_t> stops;  // number of runtimes of this shell that have ended; release in end_stop() pairs with acquire

  static consort::Runtime *runtime(uintptr_t s) noexcept { return reinterpret_cast<consort::Runtime *>(s & ~kPhase); }
  static Phase phase(uintptr_t s) noexcept { return static_cast<Phase>(s & kPhase); }
};

namespace consort::process {

inline constexpr size_t kShells = 4096;           // a stopped shell is reused after all others
extern consort_runtime *all_shells;               // array of kShells; nullptr: no runtime was ever started

consort_runtime *open_shell(Runtime *) noexcept;  // nullptr: out of memory
// Returns true if the calling thread is the one that stops the runtime, false if another thread is.
bool begin_stop(consort_runtime *) noexcept;
void set_phase(consort_runtime *, consort_runtime::Phase) noexcept;  // precondition: the runtime is stopping
void end_stop(consort_runtime *) noexcept;        // after kGone: the runtime has ended
void cancel_stop(consort_runtime *) noexcept;     // before kGone: the runtime goes on
bool is_shell(const consort_runtime *) noexcept;  // whether the pointer is one of all_shells

uint64_t next_number() noexcept;                  // a new runtime number, unique in the process
void enter(uint64_t number) noexcept;             // adds the runtime to the list of live ones
void leave(uint64_t number) noexcept;
bool is_alive(uint64_t number) noexcept;
// Runs f under the lock if the runtime is alive.
void if_alive(uint64_t number, void (*f)(ThreadState &), ThreadState &) noexcept;

}  // namespace consort::process
