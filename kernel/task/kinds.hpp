// kinds.hpp — what the runtime does with a task that is more than a body to run: a table of functions for each kind.
//
// The room that owns a kind sets its table when the runtime is made; from then on tables are only read. A task's kind
// stands in Task::kind. A plain task is told by one test of its bits and needs no table.
#pragma once
#include <memory>

#include "task/task.hpp"

namespace consort {

struct Failure;
struct Core;
struct ThreadState;

// Tasks that have become ready, earliest submitted last; handed on in batches (graph/complete.hpp).
struct ReadyBatch {
  static constexpr uint32_t kMost = 64;
  explicit ReadyBatch(uint32_t worker) noexcept : from(worker) {}

  Task *task[kMost];
  uint32_t n = 0, flags = CONSORT_PUSH_NEW;
  const uint32_t from;          // the worker that pushes them; NONE: none
  Task *specials = nullptr;     // without a body, or with a hook to call first; linked by pub.sched[0]
};

struct KindTable {
  // What messages call a task of this kind that has neither a name of its own nor a codelet.
  const char *(*label)(const Task &) noexcept;

  // -- with kSpecial --
  struct Turn {
    bool over;                  // it ends now, with `status`; else its kind sees to its end
    consort_status status = CONSORT_OK;
    Task *freed = nullptr;      // a task whose end was held for this one alone: it ends now
  };
  // Its last predecessor has ended: brings its data to where it needs them. True: they are on their way, and
  // resume_special() follows (graph/complete.hpp). nullptr: it needs none.
  bool (*bring)(Core &, Task *) noexcept = nullptr;
  // Its data are there. What begins with it goes to the batch.
  Turn (*ready)(Core &, ThreadState &, Task *, ReadyBatch &) noexcept = nullptr;
  // Before its name ends; nullptr: nothing is to be done.
  void (*end)(Core &, ThreadState &, const Task &) noexcept = nullptr;

  // -- of a recorded task (Task::recorded()) --
  // Its name is dead; `word` is what the exchange took. Counts its successors down and makes it ready for the next turn.
  void (*hand_on)(Core &, Task *, uint64_t word, ReadyBatch &) noexcept = nullptr;
  // It failed. Under DataTable::blame_mutex.
  void (*failed)(Core &, const Task &, const std::shared_ptr<const Failure> &) noexcept = nullptr;
  // The submitted task that it runs for. nullptr: none does.
  const Task *(*submitted_as)(const Core &, const Task &) noexcept = nullptr;
};

class Kinds {
 public:
  void set(TaskKind kind, const KindTable &table) noexcept { tables_[static_cast<size_t>(kind)] = &table; }
  const KindTable &of(const Task &t) const noexcept { return *tables_[static_cast<size_t>(t.kind)]; }

 private:
  const KindTable *tables_[kTaskKinds] = {};
};

}  // namespace consort
