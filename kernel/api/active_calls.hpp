// active_calls.hpp — marks of the threads that are inside a call of the C API, so that a stop can wait until none is.
//
// Each thread that calls has a record, which holds the shell of the runtime that the thread is inside. The record is
// process-wide memory that is never freed: a thread marks itself before it looks whether the runtime is alive. The
// owner alone writes `inside`; a stop reads all records. A call that comes from inside a call of another runtime has a
// second record for its time. A fork empties the records of the child: its threads take new ones.
#pragma once
#include <atomic>
#include <cstdint>

struct consort_runtime;

namespace consort {

struct alignas(64) CallRecord {
  static constexpr uintptr_t kOutside = 1;       // not 0: a record that a fork emptied is not taken for an idle one
  std::atomic<uintptr_t> inside{0};              // a shell's address, or kOutside; see ApiCall::mark(), unmark()
  std::atomic<uintptr_t> owner{0};               // a thread-local's address; 0: free; acquire where taken, else release
  CallRecord *outer = nullptr;                      // the owner's: the record that it used before this one
};

// This thread's first record. At the beginning a placeholder, of which `inside` is 0.
extern thread_local constinit CallRecord *visitor;

namespace visitors {

// The innermost record of this thread that is inside the shell's runtime; nullptr: none.
CallRecord *find(const consort_runtime *) noexcept;
// A record that is outside, for one call: the thread's first, or another one; nullptr: 65536 are in use, or no memory.
CallRecord *take() noexcept;
// The call is over. The thread's first record stays its own.
void give_back(CallRecord *) noexcept;
// The calls of this thread down to that of this record were left by a longjmp: as if they had returned.
void leave(CallRecord *) noexcept;
// Has every thread been outside the runtime since callers are turned away, but for the owner of `mine`? Looks on from
// record *seen, which is 0 at first; after the heavy fence behind what turns callers away. False: one is inside.
bool all_outside(const consort_runtime *, const CallRecord *mine, uint32_t *seen) noexcept;

}  // namespace visitors
}  // namespace consort
