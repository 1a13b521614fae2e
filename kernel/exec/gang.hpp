// gang.hpp — a team at work on one task: how its members come together, and how they part.
//
// Whoever popped a task for a team is a member and *forms* a gang: the task is prepared, then the gang is put at the
// end of one list of all that are being formed, and each member is called. A member that is called leaves its other work
// for later: between two tasks it *joins* the foremost gang of that list that has it, and does nothing else until it is
// released. The last to join starts the body: of a FORKJOIN task on the first member's worker, which lends it the
// cores of all, of an SPMD task on each. The first member, who leads, makes the task's end.
//
// Units with a queue (CONSORT_UNIT_TEAMS) do the same by their queues: a member joins once nothing of its own is in
// flight, and what the leader's queue is given is one op for all of them; its completion is the body's end.
//
// No step waits: a member that has joined has nothing to do (its step() says so), and sleeps like one that is idle, until it
// is woken. But it shows itself to no push, which could wake it in vain.
//
// Why it cannot stand still. The list is one total order, made under one mutex, and a worker joins in that order
// alone. Of all gangs that are not over take the foremost: none of its members is in one behind it (it would have
// joined this one first), so each has joined it, or comes once the task is over that it runs. A body that waits gives its
// worker to another thread, or runs on top of itself whatever comes, joins too. A gang that is formed needs nothing but
// workers: its task has its data, its memory and its tokens before it is put on the list (prepare()), and gives them all back if
// it has to wait for one of them. A body that a team runs waits for no task (may_wait()), and a barrier only for
// members that run it now, and for none that has failed or left. So the foremost ends, and then the next is that. Others
// need no word of this: a cancelled task that is being formed meets its team and ends there without a body, a
// change of the policy comes too late for what was popped, and a stop waits for all tasks.
//
// A worker's fields `part` and `part_rank` are its token holder's; `called` and `lent` are written by others: see
// worker.hpp. A Gang is its members' while one of them has a part in it; whoever lends its core looks at it no more.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exec/executor.hpp"
#include "machine/team.hpp"

namespace consort {

struct Gang;

class Gangs {
 public:
  explicit Gangs(Execution &);
  ~Gangs();
  void open(bool one_at_a_time);

  // A task for a team, just popped by w, whose token the caller holds. kAlone: it is an ordinary one's after all.
  enum class Formed { kAlone, kFormed, kGone };
  Formed form(Executor &w, ThreadState &, Task *, uint32_t impl, const Team &) noexcept;

  // w is called, or has joined; the caller holds its token. kNone: its other work goes on; kIdle: nothing to do until
  // others have come or are through.
  enum class Turn { kNone, kIdle, kDid };
  Turn turn(Executor &w, ThreadState &, Frame &) noexcept;

  // The same of a worker with a queue, of which nothing is in flight. *due: the gang that w leads has come together, and
  // is to be given to its queue: begin() first, and end() once that is through, with its status and words.
  Turn turn(Executor &w, ThreadState &, Gang **due) noexcept;
  void begin(Executor &w, ThreadState &, Gang &) noexcept;
  void end(Executor &w, ThreadState &, Gang &, consort_status, const char *text) noexcept;
  static Frame &frame_of(Gang &) noexcept;
  static Task *task_of(const Gang &) noexcept;
  // What the op does, where it calls host code: on a thread of the driver.
  consort_status call(Gang &) noexcept;

  // Its body was left by longjmp: the part that w has is over.
  void left_by_jump(Executor &w) noexcept;

  std::string describe();                        // those being formed, a line each, "" if none; may throw bad_alloc
  std::string describe(TaskName);                // whom it waits for; "": none of those

 private:
  Gang *take(Executor &) noexcept;                 // nullptr: no memory
  void put(Gang *) noexcept;
  Gang *join(Executor &, bool *last) noexcept;
  void start(Gang &) noexcept;
  void run_part(Executor &, ThreadState &, Gang &) noexcept;
  consort_status run_threads(Gang &) noexcept;
  void end_part(Executor &, Gang &) noexcept;
  Task *finish(Executor &, ThreadState &, Gang &) noexcept;  // what may run in place behind it
  void begin_told(Executor &, Gang &) noexcept;
  void end_told(Executor &, Gang &, consort_status) noexcept;

  Execution &rt_;
  bool bind_ = false;
  std::mutex mutex_;                             // guards what follows, and Gang::joined; leaf
  std::vector<Gang *> forming_;                  // the order in which they are joined
  std::vector<std::unique_ptr<Gang>> all_;
  Gang *free_ = nullptr;
};

// The calling thread on these cores from here on. *before: where it was, if not nullptr. False: the system refused.
bool bind_this_thread(const uint64_t *cpuset, uint32_t words, void *before) noexcept;

}  // namespace consort
