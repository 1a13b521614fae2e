// faults.hpp — faults beside the program of a case: allocations that fail inside calls of the library, and log lines
// about injected faults.
//
// One case runs at a time in a process; all of this belongs to it. In a case that uses threads, any thread may call.
#pragma once
#include <cstdint>
#include <string>

namespace storm {

// The nth allocation (from 0) that the library makes inside a call fails; those before and after it do not.
void arm_allocation(long nth);
void disarm_allocation();
// How many the library has made inside calls since forget_effects().
uint64_t allocations();

struct Effects {
  uint64_t allocation = 0;  // an allocation failed
  uint64_t plugin = 0;      // the layer `faults` struck a call of a plugin
  uint64_t lost = 0;        // a device was lost
  uint64_t disk = 0;        // a transfer went wrong, as the disk was told
  uint64_t demanded = 0;    // an operation failed as the driver's `faults` demand
};
const Effects &effects();
void forget_effects();

// Has a fault struck since this was asked last? Then the call that answered an error is made again.
bool struck_since_last_asked();
// The text of a failure, or a line of the log.
void look_at_text(const char *text);
void log_line(void *, int32_t level, const char *text);

}  // namespace storm
