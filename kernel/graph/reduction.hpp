// reduction.hpp — contributions of many tasks to one datum, each made on a copy, united when somebody reads.
//
// Belongs to the datum's discipline. Copies are data of the kernel's own (no handle, no home, the datum's layout).
// Free: a task takes any copy while it runs, its worker's own if it can, and the copy's first user fills it with the
// neutral element; a copy that holds contributions is valid, any other is not. What unites them calls the codelets
// itself, in the host's memory. In a fixed tree: the i-th task of a phase adds to copy i mod kFixed, in the order of
// submission, and what begins and what unites are ordinary tasks on the copies, which are moved like any datum: so it
// is wherever some unit has a memory of its own. `fixed`, `members` and the making of copies in a fixed tree: under the
// right. Taking and giving: running tasks, any thread.
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

// Where some unit has a memory of its own, or a queue, copies are data like others, for any unit to work on: every
// reduction is a fixed tree.
bool copies_are_moved(const TaskGraph &) noexcept;

struct Reduction {
  static constexpr uint32_t kFixed = 16, kMost = 256;
  using Able = std::unique_ptr<bool[]>;         // by worker; nullptr: every one can
  Reduction(TaskGraph &runtime, Datum &datum, consort_codelet_id i, consort_codelet_id c, Able a)
      : rt(runtime), like(datum), init(i), combine(c), able(std::move(a)) {}
  ~Reduction();
  // Which workers can run both methods? An error, if no worker can, or none one of the two where copies are moved.
  // Asks the codelets: without a lock.
  static Result<Able> who_can(TaskGraph &, const Codelet &init, const Codelet &combine);

  TaskGraph &rt;
  Datum &like;
  consort_codelet_id init, combine;
  Able able;
  bool fixed = false;
  uint64_t members = 0;                         // of this phase, if it is fixed

  struct Copy {
    std::atomic<bool> taken{false};             // release where it is given pairs with acquire where it is taken
    std::atomic<Datum *> datum{nullptr};  // release where the copy's datum is made pairs with the acquire of those that use it
  };
  std::array<Copy, kMost> copies;
  std::mutex growing;                           // makes a copy's datum

  Datum *copy(uint32_t i) noexcept;             // makes it; nullptr: no memory, told
  // Under the right, while no task of the datum is left: other methods, and the copies stay.
  void set(consort_codelet_id i, consort_codelet_id c, Able a) noexcept { init = i, combine = c, able = std::move(a); }
};

// Under the right:
consort_status check_reduction(const SubmissionDraft &, const Datum &) noexcept;  // has it methods that still exist?
consort_status open_phase(SubmissionDraft &, Datum &) noexcept;         // from here on its codelets cannot be removed
void close_phase(Datum &) noexcept;                                     // what ends it is sent
bool changes_kind(const AccessOrder &, uint32_t mode) noexcept;          // free and fixed members do not mix
consort_status enter_reduction(SubmissionDraft &, Claim &) noexcept;              // one more member
consort_status unite(SubmissionDraft &, Datum &) noexcept;          // tasks that bring all copies into the datum
consort_status forget_copies(SubmissionDraft &, Datum &) noexcept;  // a task that drops them: somebody overwrites

// Is it moved to where the task runs? Not what the task gets there: SCRATCH, and any copy but a fixed tree's.
constexpr bool is_moved(const consort_access &a) noexcept {
  return !(a.mode & CONSORT_M_SCRATCH) && (!(a.mode & CONSORT_M_REDUX) || (a.mode & CONSORT_M_FIXED_TREE));
}
// Are contents of the datum itself brought there first?
constexpr bool is_fetched(const consort_access &a) noexcept {
  return (a.mode & CONSORT_M_R) && !(a.mode & (CONSORT_M_SCRATCH | CONSORT_M_REDUX));
}
// What the access of a ready task is to: with REDUX in a fixed tree, the task's copy; else the datum itself.
Datum *datum_for(const consort_access &) noexcept;
// Of a datum that may be reduced, or not.
template <class F>
void for_each_copy(Datum &d, F f) {
  const AccessOrder *discipline = discipline_if_any(d);
  if (!discipline || !discipline->reduction) return;
  for (Reduction::Copy &c : discipline->reduction->copies)
    if (Datum *copy = c.datum.load(std::memory_order_acquire)) f(*copy);
}

// A running task's part. The access remembers which copy it has.
consort_status take_copy(TaskGraph &, Worker &, Task *, consort_access &, const void **view) noexcept;
void give_copy(consort_access &) noexcept;
// The tasks with kUnite that have a body. One that calls the datum's codelets for what it finds among its copies:
inline bool unites_by_itself(const Task &t) noexcept {
  return (t.bits & kUnite) && t.pub.access[t.pub.naccess - 1].mode == CONSORT_M_RW;
}
// ... the body of that (call.user: the task), on the worker that runs it;
consort_status unite_body(const consort_call *) noexcept;
// ... one that begins the datum itself in a fixed tree, and the last of the tree: the codelets' like any other.
inline bool begins(const Task &t) noexcept { return t.pub.access[0].mode == CONSORT_M_W; }
// Does the datum hold something already? It is then over without a body.
bool begins_in_vain(const Task &) noexcept;
consort_status begun_already(const consort_call *) noexcept;
void drop_copies(Datum &) noexcept;             // what forget_copies() ordered, when its turn has come
void end_union(Datum &) noexcept;               // the task that ends a phase is over: its codelets may go
// May this worker run it, as far as the methods of the reductions of its data go? For one that is about to run.
bool reductions_allow(const Task &, uint32_t worker) noexcept;

}  // namespace consort
