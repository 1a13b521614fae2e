// submission_draft.hpp — a submission on the long way, until it is linked: its record, and the data it claims.
//
// The submitting thread's, on its stack. A draft that is not sent gives everything back.
#pragma once
#include <memory>

#include "graph/repeat.hpp"
#include "graph/submission_right.hpp"
#include "graph/task_options.hpp"
#include "task/access_modes.hpp"

namespace consort {

inline constexpr uint32_t kFewUses = 16;

struct Reduction;

// Everything that one submission needs until it is linked; gives the record back unless it was sent.
struct SubmissionDraft {
  TaskGraph &rt;
  ThreadState &thread;
  Task *t;
  Claim few[kFewUses];
  Claim *claims = few;
  uint32_t nclaims = 0, nhidden = 0;  // behind them: data of the kernel's own, under the same locks
  bool unordered = false;
  bool formatted = false;             // some of its data have several formats
  Reduction *reduction = nullptr;     // that is being united
  // the kernel's own that wait for the right to be given up, to end; linked by sched[0]
  Task *ended = nullptr;

  // -- with kMore --
  Task *guard = nullptr;                  // of its end; unsent, or ready at once
  RepeatState *turns = nullptr;
  std::unique_ptr<RepeatState> made_turns;

  SubmissionDraft(TaskGraph &runtime, ThreadState &state, Task *task) : rt(runtime), thread(state), t(task) {}
  ~SubmissionDraft();                           // without the right; in submit_full.cpp, as drop() is
  void drop() noexcept;
  void drop_record(Task *) noexcept;
  Extra &extra() noexcept { return *(t->extra ? t->extra : rt.tasks.make_extra(t)); }
};

consort_status no_memory();

}  // namespace consort
