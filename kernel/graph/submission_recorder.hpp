// submission_recorder.hpp — the interface through which a recording sees the submissions of its thread.
//
// The room replay implements it. ThreadState::recorder points to it while the thread records; only that thread calls.
#pragma once
#include <consort/consort.h>

#include "task/task.hpp"

namespace consort {

struct SubmissionDraft;
struct ThreadState;

// Ids of recorded tasks that have not run: no record ever has such a generation.
namespace recorded {
inline constexpr uint64_t kMark = uint64_t{1} << 63;
constexpr bool is(uint64_t name) { return name & kMark; }
constexpr uint64_t make(uint32_t serial, uint32_t index) { return kMark | uint64_t{serial & 0x7fffffff} << 32 | index; }
}  // namespace recorded

class SubmissionRecorder {
 public:
  // A submission of its thread: records it, and sends it on unless it is only to be recorded. Returns the result of
  // submit().
  virtual consort_status submit(ThreadState &, const consort_task_desc &, consort_task_id *out) noexcept = 0;
  // The draft of a submission that submit() has sent on, ready for linking. OK: recorded, not to be linked; AGAIN: also
  // to be linked; < 0: refused, error text set.
  virtual consort_status take(SubmissionDraft &, consort_task_id *out) noexcept = 0;

 protected:
  ~SubmissionRecorder() = default;  // owned by the runtime's recordings
};

}  // namespace consort
