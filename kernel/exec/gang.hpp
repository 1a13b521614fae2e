// gang.hpp — a gang: the members of a team that execute one task together.
//
// The worker that pops a task for a team is a member and *forms* a gang. The task is prepared; then the gang is
// appended to one list of all forming gangs, and each member is called. Between two tasks a called member *joins* the
// first gang of that list to which it belongs. It runs nothing else until it is released. The last member to join
// starts the body. A FORKJOIN task runs on the first member's worker, with the cores of all; an SPMD task runs on each
// member. The first member, the leader, ends the task.
//
// Units with a queue (CONSORT_UNIT_TEAMS) do the same with their queues. A member joins when none of its own ops is in
// flight. The leader's queue gets one op for all members, and its completion is the end of the body.
//
// No step waits. A member that has joined has no work (its step() says so) and sleeps like an idle worker until it is
// woken. It does not register with pushes, which would wake it in vain.
//
// Absence of deadlock. The list is one total order, made under one mutex, and a worker joins only in that order.
// Consider the first of all unfinished gangs. None of its members is in a gang behind it, since it would have joined
// this one first. So each member has joined, or joins after the task that it runs. A body that waits gives its worker
// to another thread, or runs arriving work on its own stack, which includes joining. A forming gang needs only workers.
// Its task has its data, memory and tokens before it is listed (prepare()), and returns them all if it has to wait for
// one. A team's body waits for no task (may_wait()). Its barrier waits only for members that run the body now and have
// neither failed nor left. So the first gang ends, and the next becomes first.
//
// Other rooms need no special case. A cancelled task that is forming still assembles its team and ends without a body.
// A change of the policy does not affect popped tasks, and a stop waits for all tasks.
//
// A worker's fields `part` and `part_rank` belong to its token holder; `called` and `lent` are written by other
// threads: see worker.hpp. A Gang may be accessed by its members while one of them has a part in it. A member that only
// lends its core no longer accesses it.
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

  // For a task of a team, popped by w, whose token the caller holds. kAlone: it turns out to be an ordinary task.
  enum class Formed { kAlone, kFormed, kGone };
  Formed form(Executor &w, ThreadState &, Task *, uint32_t impl, const Team &) noexcept;

  // Called when w is called or has joined; the caller holds its token. kNone: its other work continues. kIdle: nothing
  // to do until other members have joined or finished.
  enum class Turn { kNone, kIdle, kDid };
  Turn turn(Executor &w, ThreadState &, Frame &) noexcept;

  // The same for a worker with a queue without ops in flight. *due: the gang that w leads is complete and is to be
  // issued to its queue. Call begin() first, and end() at its completion, with its status and text.
  Turn turn(Executor &w, ThreadState &, Gang **due) noexcept;
  void begin(Executor &w, ThreadState &, Gang &) noexcept;
  void end(Executor &w, ThreadState &, Gang &, consort_status, const char *text) noexcept;
  static Frame &frame_of(Gang &) noexcept;
  static Task *task_of(const Gang &) noexcept;
  // The function of the op, if it calls host code on a thread of the driver.
  consort_status call(Gang &) noexcept;

  // A longjmp left the body: ends the part of w.
  void left_by_jump(Executor &w) noexcept;

  std::string describe();                        // the forming gangs, a line each, "" if none; may throw bad_alloc
  std::string describe(TaskName);                // the members that it waits for; "": no forming gang

 private:
  Gang *take(Executor &) noexcept;                 // nullptr: out of memory
  void put(Gang *) noexcept;
  Gang *join(Executor &, bool *last) noexcept;
  void start(Gang &) noexcept;
  void run_part(Executor &, ThreadState &, Gang &) noexcept;
  consort_status run_threads(Gang &) noexcept;
  void end_part(Executor &, Gang &) noexcept;
  Task *finish(Executor &, ThreadState &, Gang &) noexcept;  // returns a successor that may run in place
  void begin_told(Executor &, Gang &) noexcept;
  void end_told(Executor &, Gang &, consort_status) noexcept;

  Execution &rt_;
  bool bind_ = false;
  std::mutex mutex_;                             // guards the members below and Gang::joined; leaf
  std::vector<Gang *> forming_;                  // in the order of joining
  std::vector<std::unique_ptr<Gang>> all_;
  Gang *free_ = nullptr;
};

// Binds the calling thread to these cores. *before: its previous affinity, unless nullptr. Returns false if the system
// refused.
bool bind_this_thread(const uint64_t *cpuset, uint32_t words, void *before) noexcept;

}  // namespace consort
