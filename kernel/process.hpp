// process.hpp — what a process must remember across runtimes: which are alive, and the shells that hosts hold.
//
// A host never holds a Runtime but a shell, a word that is cleared at the stop and not used again for the next
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
struct Hand;
}  // namespace consort

struct consort_runtime {
  std::atomic<consort::Runtime *> live;  // nullptr: stopped, or another process's
};

namespace consort::process {

inline constexpr size_t kShells = 4096;           // stopped ones rest until all others were used
extern consort_runtime *all_shells;               // kShells of them; nullptr: no runtime was ever started

consort_runtime *open_shell(Runtime *) noexcept;  // nullptr: no memory
void close_shell(consort_runtime *) noexcept;     // the runtime is stopping: from here on calls are refused
bool is_shell(const consort_runtime *) noexcept;  // was it ever one of ours?

uint64_t next_number() noexcept;                  // of a runtime
void enter(uint64_t number) noexcept;             // the runtime is alive
void leave(uint64_t number) noexcept;
bool is_alive(uint64_t number) noexcept;
// Runs f under the lock if the runtime is alive.
void if_alive(uint64_t number, void (*f)(Hand &), Hand &) noexcept;

}  // namespace consort::process
