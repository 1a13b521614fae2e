// recorder.hpp — what one thread submits between record_begin and record_end, and how a recording is made of it.
//
// The recording thread's, from begin to end. A submission is first checked and drafted like any other; what stands in
// the draft is copied here. Only what the thread submits itself counts: not what bodies submit that it happens to run.
#pragma once
#include <consort/consort.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/submission_recorder.hpp"
#include "replay/recording.hpp"
#include "task/thread_state.hpp"

namespace consort {

struct SubmissionDraft;

struct Recorder final : SubmissionRecorder {
  Recorder(Replaying &runtime, uint32_t number, uint32_t how, const Task *task)
      : rt(runtime), serial(number), flags(how), inside(task) {}

  struct Item {
    consort_codelet_id codelet;
    uint64_t footprint, work;
    uint32_t nuses, nargs, arg_bytes, nafter;
    int32_t priority;
    uint32_t worker;
    uint32_t name;           // place in `names`, from 1; 0: none
    bool unordered;
    bool for_teams = false;
    uint32_t team = CONSORT_NONE;  // that it is bound to
  };
  struct Use { uint32_t datum, mode; bool loose; };

  Replaying &rt;
  const uint32_t serial, flags;
  const Task *const inside;  // the task whose body records; nullptr: none does
  std::vector<Item> items;
  std::vector<Use> uses;     // of all items, one after the other; so are args and after
  std::vector<std::byte> args;
  std::vector<uint32_t> after;
  std::vector<std::string> names;
  std::vector<Recording::Use> data;
  std::unordered_map<const Datum *, uint32_t> place;
  std::unordered_map<TaskName, uint32_t> ids;  // of tasks that run while they are recorded
  consort_status refused = CONSORT_OK;         // the first that was, and why
  std::string why;

  // the submission under way, as it is to be drafted; nothing to be linked where it does not run
  consort_task_desc now{};
  uint32_t nafter = 0;       // its predecessors

  bool wants(const ThreadState &) const noexcept;     // is a submission of this thread state one to record?
  consort_status look(const consort_task_desc &) noexcept;  // before the draft: may it be recorded? Fills `now`
  consort_status submit(ThreadState &, const consort_task_desc &, consort_task_id *out) noexcept override;
  consort_status take(SubmissionDraft &, consort_task_id *out) noexcept override;
  consort_status refuse(consort_status, const char *text) noexcept;

  consort_status build(Recording &);           // may throw bad_alloc
  bool is_loose() const noexcept;              // some task uses data in no order with others

 private:
  bool index_of(TaskName, uint32_t *out) const noexcept;
  consort_status copy(SubmissionDraft &);
};

inline Recorder *recorder_of(const ThreadState &thread) noexcept {  // nullptr: it does not record
  return static_cast<Recorder *>(thread.recorder);
}

}  // namespace consort
