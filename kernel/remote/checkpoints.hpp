// checkpoints.hpp — checkpoints of a job, as tasks of the graph: what is stored, what is read back, and their thread.
//
// Each step is a task of the kind kStored on one datum. Its data come home as for a message; then a thread of its own reads
// or writes the file and ends the task, so no worker waits for a disk. With a manual pump the thread that makes the turn
// does it.
//
//   store    reads a datum at its owner, and adds its contents to this rank's part
//   take     reads the token of another rank, which has come along a binomial tree: that rank's part is there
//   finish   writes this rank's token, after its stores and takes: the part is durable. Rank 0 then writes the manifest
//   end      reads the token of rank 0, which is broadcast: the checkpoint is complete. The application's task
//   load     writes a datum at its owner with the contents that were found at the start
//
// A finish fails with the first failure of its stores and takes, and poisons its token: so the failure reaches rank 0, and
// from there every rank, with its text. saving.cpp submits the steps.
#pragma once
#include <consort/checkpoint.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/park.hpp"
#include "remote/checkpoint_folder.hpp"
#include "task/kinds.hpp"

namespace consort {

struct Distribution;
struct Datum;
struct Owned;
class Job;

class Checkpoints {
 public:
  Checkpoints(Distribution &rt, Job &job) noexcept : rt_(rt), job_(job) {}
  ~Checkpoints();                          // precondition: no step is pending
  Checkpoints(const Checkpoints &) = delete;
  Checkpoints &operator=(const Checkpoints &) = delete;

  class Call {                              // false: another thread is inside one of the next functions
   public:
    explicit Call(Checkpoints &all) noexcept : all_(all), is_mine_(!all.is_in_call_.exchange(true, std::memory_order_acquire)) {}
    ~Call() {
      if (is_mine_) all_.is_in_call_.store(false, std::memory_order_release);
    }
    Call(const Call &) = delete;
    Call &operator=(const Call &) = delete;
    explicit operator bool() const noexcept { return is_mine_; }

   private:
    Checkpoints &all_;
    const bool is_mine_;
  };
  // -- inside a Call, on all ranks in the same order; may throw bad_alloc --
  consort_status found(consort_checkpoint_info *);
  // Before a save: the caller registers a datum of 8 bytes for each rank, its token.
  bool needs_token() const noexcept;
  consort_status add_token(consort_data_id);
  consort_status save(const consort_checkpoint_desc &, consort_task_id *out);
  consort_status restore(const consort_data_id *, uint32_t n);

  // -- called by the kind --
  bool bring(Task *) noexcept;
  KindTable::Turn ready(ThreadState &, Task *) noexcept;

 private:
  // One checkpoint of this rank, from save() to its last step. `part` and `begun` are used by the thread of the steps.
  struct Save {
    PartHead head;
    uint64_t number = 0;
    std::string name;
    std::vector<std::pair<uint64_t, uint32_t>> owners;  // rank 0: tag and owner of each datum, by tag
    std::unique_ptr<CheckpointFolder::Part> part;
    // under the mutex
    uint32_t open = 0;                      // stores and takes that have not ended
    Error first{CONSORT_OK, {}};            // the first failure
  };
  struct Step {
    enum Kind : uint8_t { kStore, kTake, kFinish, kEnd, kLoad } kind;
    bool is_counted() const noexcept { return kind == kStore || kind == kTake; }  // in Save::open
    std::shared_ptr<Save> save;
    const SavedDatum *saved = nullptr;      // kLoad
    uint64_t tag = 0;
    Task *task = nullptr;
    void *view = nullptr;
    Step *next = nullptr;                   // in a queue
  };
  class Queue {                             // first in, first out; allocates nothing
   public:
    void push(Step *s) noexcept {
      s->next = nullptr;
      *end_ = s, end_ = &s->next;
    }
    Step *pop() noexcept {
      Step *const s = first_;
      if (s && !(first_ = s->next)) end_ = &first_;
      return s;
    }

   private:
    Step *first_ = nullptr, **end_ = &first_;
  };
  static constexpr size_t kPlace = 32;      // of the address in the record, behind its one access
  static constexpr uintptr_t kLoads = 1;    // in the address: the step writes a datum of the application
  static Step &step_of(const Task &) noexcept;

  friend void set_checkpoint_kind(Kinds &) noexcept;

  // -- on the submitting thread --
  consort_status open_folder();             // once: a failure stays
  std::shared_ptr<Save> begin(const consort_checkpoint_desc &, const std::vector<consort_data_id> &);
  consort_status submit_step(consort_data_id, uint32_t mode, std::unique_ptr<Step>, const consort_checkpoint_desc * = nullptr,
                             consort_task_id *out = nullptr) noexcept;
  consort_status submit_counted(const std::shared_ptr<Save> &, Step::Kind, const Owned &);
  consort_status gather_tokens(const std::shared_ptr<Save> &);
  consort_status all_data(const consort_data_id *, uint32_t n, std::vector<consort_data_id> *);
  void fail(Save &, consort_status, std::string_view text) noexcept;

  // -- on the thread of the steps, or at a turn --
  void run() noexcept;
  bool start_thread() noexcept;
  Step *take() noexcept;
  consort_status perform(Step &) noexcept;  // < 0: error text set
  Result<void> store(Step &, const Datum &);
  Result<void> finish(Step &, const Datum &token);
  Result<void> commit(const Save &);
  Result<void> load(Step &, const Datum &);
  void end(ThreadState &, Step *, consort_status) noexcept;
  consort_status settle(Step *, consort_status) noexcept;  // before the task ends; error text set. The step is gone
  bool may_run(const Step &) const noexcept;               // mutex held

  Distribution &rt_;
  Job &job_;
  std::atomic<bool> is_in_call_{false};     // acquire and release: see Call
  std::unique_ptr<CheckpointFolder> folder_;
  std::string path_;
  std::optional<Error> unusable_;           // why the folder could not be opened
  std::optional<CheckpointManifest> found_;           // the complete checkpoint at the start
  std::vector<consort_data_id> tokens_;     // by rank
  uint64_t saves_ = 0;

  std::mutex mutex_;                        // guards the following fields; a leaf
  Queue ready_, waiting_;                   // waiting_: kFinish
  uint32_t loads_ = 0;                      // loads that have not ended
  bool is_threaded_ = false;
  std::thread thread_;
  std::atomic<bool> stopping_{false};       // release in ~Checkpoints() pairs with acquire in run()
  Parker parker_;
};

// The table of kStored.
void set_checkpoint_kind(Kinds &) noexcept;

}  // namespace consort
