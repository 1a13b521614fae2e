// active_calls.hpp — marks the threads that are inside a call of the C API, so that a stop can wait for them.
//
// Each calling thread has a record that holds the shell of the runtime whose call it is in. Records are process-wide
// memory that is never freed, since a thread marks itself before it checks whether the runtime is alive. Only the owner
// writes `inside`; a stop reads all records. A call made inside a call of another runtime uses a second record. A fork
// empties the records of the child, whose threads take new ones.
#pragma once
#include <atomic>
#include <cstdint>

struct consort_runtime;

namespace consort {

struct alignas(64) CallRecord {
  static constexpr uintptr_t kOutside = 1;       // not 0: a record emptied by a fork does not look idle
  std::atomic<uintptr_t> inside{0};              // a shell's address, or kOutside; see ApiCall::mark(), unmark()
  std::atomic<uintptr_t> owner{0};               // address of a thread-local; 0: free; acquire where taken, else release
  CallRecord *outer = nullptr;                      // used by the owner: the record of the enclosing call
};

// This thread's first record. Initially a placeholder with `inside` 0.
extern thread_local constinit CallRecord *visitor;

namespace visitors {

// Returns the innermost record of this thread that is inside the shell's runtime, or nullptr.
CallRecord *find(const consort_runtime *) noexcept;
// Returns a record that is outside, for one call: the thread's first, or another one. nullptr: 65536 are in use, or out
// of memory.
CallRecord *take() noexcept;
// Ends the call. The thread keeps its first record.
void give_back(CallRecord *) noexcept;
// A longjmp left the calls of this thread down to that of this record: ends them.
void leave(CallRecord *) noexcept;
// Returns whether every thread except the owner of `mine` has been outside the runtime since calls are refused.
// Continues from record *seen, initially 0. Precondition: the heavy fence behind the store that refuses calls. False: a
// thread is inside.
bool all_outside(const consort_runtime *, const CallRecord *mine, uint32_t *seen) noexcept;

}  // namespace visitors
}  // namespace consort
