// reduction.hpp — reductions: contributions of many tasks to one datum, each made on a copy, united before the next
// read.
//
// Belongs to the datum's access order. Copies are internal data (no handle, no home, the datum's layout). Free
// reduction: a task takes any copy while it runs, preferably its worker's own, and the copy's first user fills it with
// the neutral element. A copy with contributions is valid, any other is not. The uniting task calls the codelets
// itself, in host memory. Fixed tree: the i-th task of a phase adds to copy i mod kFixed, in the order of submission.
// The initial and the uniting tasks are ordinary tasks on the copies, which move like any datum. So it is used wherever
// some unit has memory of its own. `fixed`, `members` and the making of copies in a fixed tree: under the right. Taking
// and returning copies: running tasks, any thread.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/result.hpp"
#include "graph/access_order.hpp"

namespace consort {

struct Claim;
struct SubmissionDraft;
struct Worker;

// If some unit has memory of its own, or a queue, copies are data for any unit to work on. Every reduction is a fixed
// tree.
bool copies_are_moved(const TaskGraph &) noexcept;

struct Reduction {
  static constexpr uint32_t kFixed = 16, kMost = 256;
  using Able = std::unique_ptr<bool[]>;         // by worker; nullptr: all can
  Reduction(TaskGraph &runtime, Datum &datum, consort_codelet_id i, consort_codelet_id c, Able a)
      : rt(runtime), like(datum), init(i), combine(c), able(std::move(a)) {}
  ~Reduction();
  // Returns which workers can run both methods. An error if no worker can, or, where copies are moved, if none can run
  // one of the two. Calls can_execute: without a lock.
  static Result<Able> eligible_workers(TaskGraph &, const Codelet &init, const Codelet &combine);

  TaskGraph &rt;
  Datum &like;
  consort_codelet_id init, combine;
  Able able;
  bool fixed = false;
  uint64_t members = 0;                         // members of this phase, in a fixed tree

  struct Copy {
    std::atomic<bool> taken{false};             // release where it is returned pairs with acquire where it is taken
    std::atomic<Datum *> datum{nullptr};  // release where the copy's datum is made pairs with the acquire of its users
  };
  std::array<Copy, kMost> copies;
  std::mutex growing;                           // guards making a copy's datum

  Datum *copy(uint32_t i) noexcept;             // makes it; nullptr: out of memory, error text set
  // Under the right, when no task of the datum is left: replaces the methods and keeps the copies.
  void set(consort_codelet_id i, consort_codelet_id c, Able a) noexcept { init = i, combine = c, able = std::move(a); }
};

// Under the right:
consort_status check_reduction(const SubmissionDraft &, const Datum &) noexcept;  // checks that its methods still exist
consort_status open_phase(SubmissionDraft &, Datum &) noexcept;         // from here on its codelets cannot be removed
void close_phase(Datum &) noexcept;                                     // its ending tasks were sent
bool changes_kind(const AccessOrder &, uint32_t mode) noexcept;          // free and fixed members do not mix
consort_status enter_reduction(SubmissionDraft &, Claim &) noexcept;              // adds a member
consort_status unite(SubmissionDraft &, Datum &) noexcept;          // sends tasks that unite all copies into the datum
consort_status forget_copies(SubmissionDraft &, Datum &) noexcept;  // sends a task that drops them, before an overwrite

// Returns whether its datum is moved to where the task runs. Not SCRATCH, and not a copy unless of a fixed tree.
constexpr bool is_moved(const consort_access &a) noexcept {
  return !(a.mode & CONSORT_M_SCRATCH) && (!(a.mode & CONSORT_M_REDUX) || (a.mode & CONSORT_M_FIXED_TREE));
}
// Returns whether contents of the datum itself are brought there first.
constexpr bool is_fetched(const consort_access &a) noexcept {
  return (a.mode & CONSORT_M_R) && !(a.mode & (CONSORT_M_SCRATCH | CONSORT_M_REDUX));
}
// Returns the target of a ready task's access: with REDUX in a fixed tree the task's copy, else the datum itself.
Datum *datum_for(const consort_access &) noexcept;
// Calls f for each copy; none if the datum has no reduction.
template <class F>
void for_each_copy(Datum &d, F f) {
  const AccessOrder *discipline = discipline_if_any(d);
  if (!discipline || !discipline->reduction) return;
  for (Reduction::Copy &c : discipline->reduction->copies)
    if (Datum *copy = c.datum.load(std::memory_order_acquire)) f(*copy);
}

// Gives a running task a copy. The access remembers which one.
consort_status take_copy(TaskGraph &, Worker &, Task *, consort_access &, const void **view) noexcept;
void give_copy(consort_access &) noexcept;
// Kinds of tasks with kUnite and a body. First: it calls the datum's codelets on its copies by itself;
inline bool unites_by_itself(const Task &t) noexcept {
  return (t.bits & kUnite) && t.pub.access[t.pub.naccess - 1].mode == CONSORT_M_RW;
}
// its body (call.user: the task), on the worker that runs it;
consort_status unite_body(const consort_call *) noexcept;
// second: in a fixed tree, the task that initializes the datum, and the last of the tree, with the codelets' own
// bodies.
inline bool begins(const Task &t) noexcept { return t.pub.access[0].mode == CONSORT_M_W; }
// Returns whether the datum already has contents. The task then ends without a body.
bool begins_in_vain(const Task &) noexcept;
consort_status begun_already(const consort_call *) noexcept;
void drop_copies(Datum &) noexcept;             // the action of the task of forget_copies() at its turn
void end_union(Datum &) noexcept;               // the last task of a phase has ended: its codelets may be removed
// Returns whether this worker may run it, according to the methods of its data's reductions. Precondition: it is about
// to run.
bool reductions_allow(const Task &, uint32_t worker) noexcept;

}  // namespace consort
