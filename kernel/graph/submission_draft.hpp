// submission_draft.hpp — a submission on the slow path until it is linked: its record, and the data that it claims.
//
// On the submitting thread's stack and used by that thread alone. A draft that is not sent releases everything.
#pragma once
#include <memory>

#include "graph/repeat.hpp"
#include "graph/submission_right.hpp"
#include "graph/task_options.hpp"
#include "task/access_modes.hpp"

namespace consort {

inline constexpr uint32_t kFewUses = 16;

struct Reduction;

// The state of one submission until it is linked; frees the record unless it was sent.
struct SubmissionDraft {
  TaskGraph &rt;
  ThreadState &thread;
  Task *t;
  Claim few[kFewUses];
  Claim *claims = few;
  uint32_t nclaims = 0, nhidden = 0;  // behind the claims: internal data, under the same locks
  bool unordered = false;
  bool formatted = false;             // some of its data have several formats
  Reduction *reduction = nullptr;     // the reduction that is being united
  // internal tasks to be ended after the right is released; linked by sched[0]
  Task *ended = nullptr;

  // -- with kMore --
  Task *guard = nullptr;                  // the guard of its completion; unsent, or ready at once
  RepeatState *turns = nullptr;
  std::unique_ptr<RepeatState> made_turns;

  SubmissionDraft(TaskGraph &runtime, ThreadState &state, Task *task) : rt(runtime), thread(state), t(task) {}
  ~SubmissionDraft();                           // without the right; defined in submit_full.cpp, like drop()
  void drop() noexcept;
  void drop_record(Task *) noexcept;
  Extra &extra() noexcept { return *(t->extra ? t->extra : rt.tasks.make_extra(t)); }
};

consort_status no_memory();

}  // namespace consort
