// recorder.hpp — the submissions of one thread between record_begin and record_end, and the recording made of them.
//
// Used by the recording thread alone. A submission is first checked and drafted as usual; the draft is copied here.
// Only the thread's own submissions are recorded, not those of bodies that it runs meanwhile.
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
    uint32_t name;           // index in `names`, from 1; 0: none
    bool unordered;
    bool for_teams = false;
    uint32_t team = CONSORT_NONE;  // the team to which it is bound
  };
  struct Use { uint32_t datum, mode; bool loose; };

  Replaying &rt;
  const uint32_t serial, flags;
  const Task *const inside;  // the task whose body records; nullptr: none
  std::vector<Item> items;
  std::vector<Use> uses;     // of all items in sequence; likewise args and after
  std::vector<std::byte> args;
  std::vector<uint32_t> after;
  std::vector<std::string> names;
  std::vector<Recording::Use> data;
  std::unordered_map<const Datum *, uint32_t> place;
  std::unordered_map<TaskName, uint32_t> ids;  // of tasks that run while they are recorded
  consort_status refused = CONSORT_OK;         // status of the first refused submission
  std::string why;

  // the current submission as it is to be drafted; without links if it does not run
  consort_task_desc now{};
  uint32_t nafter = 0;       // number of its predecessors

  bool wants(const ThreadState &) const noexcept;     // whether this thread's submission is to be recorded
  // before the draft: checks whether it can be recorded, fills `now`
  consort_status look(const consort_task_desc &) noexcept;
  consort_status submit(ThreadState &, const consort_task_desc &, consort_task_id *out) noexcept override;
  consort_status take(SubmissionDraft &, consort_task_id *out) noexcept override;
  consort_status refuse(consort_status, const char *text) noexcept;

  consort_status build(Recording &);           // may throw bad_alloc
  bool is_loose() const noexcept;              // some task uses data without order

 private:
  bool index_of(TaskName, uint32_t *out) const noexcept;
  consort_status copy(SubmissionDraft &);
};

inline Recorder *recorder_of(const ThreadState &thread) noexcept {  // nullptr: the thread does not record
  return static_cast<Recorder *>(thread.recorder);
}

}  // namespace consort
