// kinds.hpp — task kinds other than a plain body: a table of functions for each kind.
//
// The room that owns a kind sets its table when the runtime is made; afterwards tables are only read. A task's kind is
// Task::kind. A plain task is recognized by one test of its bits and needs no table.
#pragma once
#include <memory>

#include "task/task.hpp"

namespace consort {

struct Failure;
struct Core;
struct ThreadState;

// Tasks that have become ready, the earliest submitted last; passed on in batches (graph/complete.hpp).
struct ReadyBatch {
  static constexpr uint32_t kMost = 64;
  explicit ReadyBatch(uint32_t worker) noexcept : from(worker) {}

  Task *task[kMost];
  uint32_t n = 0, flags = CONSORT_PUSH_NEW;
  const uint32_t from;          // the pushing worker; NONE: none
  Task *specials = nullptr;     // tasks without a body, or with a hook to call first; linked by pub.sched[0]
};

struct KindTable {
  // The text for a task of this kind without a name and without a codelet.
  const char *(*label)(const Task &) noexcept;

  // -- with kSpecial --
  struct Turn {
    bool over;                  // true: it ends now, with `status`; else its kind ends it
    consort_status status = CONSORT_OK;
    Task *freed = nullptr;      // a task whose completion was held for this one alone: it ends now
  };
  // Its last predecessor has ended: brings its data to where it needs them. True: in flight, and resume_special()
  // follows (graph/complete.hpp). nullptr: it needs none.
  bool (*bring)(Core &, Task *) noexcept = nullptr;
  // Its data are there. Tasks that begin with it are added to the batch.
  Turn (*ready)(Core &, ThreadState &, Task *, ReadyBatch &) noexcept = nullptr;
  // Before its name ends; nullptr: nothing to do.
  void (*end)(Core &, ThreadState &, const Task &) noexcept = nullptr;

  // -- of a recorded task (Task::recorded()) --
  // Its name is invalid; `word` is the value that the exchange took. Decrements its successors and prepares it for the
  // next turn.
  void (*hand_on)(Core &, Task *, uint64_t word, ReadyBatch &) noexcept = nullptr;
  // It failed. Precondition: DataTable::blame_mutex is held.
  void (*failed)(Core &, const Task &, const std::shared_ptr<const Failure> &) noexcept = nullptr;
  // Returns the submitted task for which it runs, or nullptr.
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
