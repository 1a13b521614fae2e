// coverage.hpp — events that occurred in cases and took effect: features of programs and machines, and faults; each
// alone and each with each other.
#pragma once
#include <atomic>
#include <bitset>
#include <string>

#include "storm/case.hpp"
#include "storm/faults.hpp"

namespace mixed {
class Run;
struct Site;
}  // namespace mixed

namespace storm {

enum Feature : int {
  kNested,         // a body submitted tasks that ran
  kNestedWait,     // and waited for them
  kTags,           // a task came after a tag
  kCommute,        // two or more tasks took turns on a datum
  kReduction,      // two or more tasks contributed
  kPartition,      // a task ran on a part of a datum
  kContext,        // a task ran in a context of its own
  kTeam,           // a team of two or more ran a task
  kReplay,         // a recording was replayed
  kFailure,        // a task failed as the program says
  kPoison,         // a task did not run since one before it failed
  kCancel,         // a task was cancelled
  kSubmitters,     // two or more submitters
  kDevice,         // a task ran on a device
  kEviction,       // a replica made room
  kHint,           // prefetch, evict, wont_use, write_through
  kSwap,           // another policy took over
  kUnordered,      // a task ran without order by its data
  kEndHeld,        // an end was held, by a hold or by other tasks
  kHooks,          // hooks were called
  kRepeat,         // a task had a second turn
  kAcquire,        // the program's thread entered a datum
  kAcquireLater,   // and without waiting
  kRenew,          // a datum was unregistered while the program went on, or invalidated
  kCopy,           // a datum was copied to another
  kBundle,         // a bundled task ran
  kEmpty,          // an empty task
  kSmallWindow,    // a submitter met a full window
  kFaultAllocation,
  kFaultPlugin,
  kFaultMemory,    // oom
  kFaultCopy,
  kFaultKernel,
  kFaultLost,
  kFaultSlow,
  kFaultDisk,
  kFeatures
};
const char *name_of(Feature);

// One case's.
class Seen {
 public:
  void program(const Case &, const mixed::Site &, const mixed::Run &);
  void machine(const Case &, mixed::Site &, const Effects &);
  void faults(const Case &, const Effects &, int failures);
  const std::bitset<kFeatures> &all() const { return all_; }

 private:
  void add(Feature f, bool on = true) {
    if (on) all_.set(f);
  }
  std::bitset<kFeatures> all_;
};

// Of all cases; lies in memory that processes share.
struct Coverage {
  std::atomic<uint64_t> cases{0}, counts[kFeatures][kFeatures] = {};  // on the diagonal: alone
  void add(const Seen &);
};
std::string table_of(const Coverage &);
// One character a pair: how many digits its count per 100,000 cases has.
std::string matrix_of(const Coverage &);
// Pairs that may occur and never did; "" if all did.
std::string missing_in(const Coverage &);

}  // namespace storm
