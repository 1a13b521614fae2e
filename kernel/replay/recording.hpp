// The room replay: sequences of tasks that are recorded once and run many times. It includes exec, graph and below;
// memory and api use it. Start with recording.hpp, then recorder.hpp (how one is made) and replay.hpp (how it runs).
//
// recording.hpp — a sequence of tasks with its dependencies worked out, ready to run again and again.
//
// Each recorded task is a record of the arena, a node, that belongs to the recording for good: it never goes back to a thread
// state, and counts itself ready again for the next replay when it ends. Nodes stand in the order of submission, behind
// them those of the kernel's own: junctions between accesses of different kinds, and a tree that brings all ends
// together in the final node. Owned by the runtime's table; a recording that was destroyed leaves its shell there for
// the next one.
//
// A recording keeps its data between replays: they are marked odd, so that whoever else uses one goes the long way,
// finds the recording and makes it let go of that datum; the next replay takes it back. So a replay claims what others
// have used since, and nothing else.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "base/spin.hpp"
#include "replay/captured_graph.hpp"
#include "task/codelet.hpp"
#include "task/data.hpp"
#include "task/data_keepers.hpp"
#include "task/failure.hpp"
#include "task/replay_node.hpp"
#include "task/task.hpp"

namespace consort {

class Kinds;
struct Replaying;
struct Recorder;

struct Recording {
  struct Use {
    Datum *datum;
    uint64_t id;             // its handle
    uint32_t mode;           // R or with W: as the whole uses it
    uint32_t tokens;         // some task uses it in any order with others
  };

  explicit Recording(uint32_t n) noexcept : number(n) {}
  ~Recording() { clear(); }

  const uint32_t number;
  uint32_t generation = 1;
  std::mutex control;        // guards all that follows; taken before the submission right, never under it

  bool live = false;
  std::string dead;          // why it cannot be replayed any more
  std::atomic<uint32_t> first{0}, nnodes{0};      // its records; relaxed: a generation confirms them
  uint32_t ntasks = 0;
  uint64_t nedges = 0, bytes = 0, replays = 0;
  std::vector<uint32_t> edges, roots;             // by record number
  std::vector<Use> uses;
  std::unordered_map<uint32_t, std::string> names;    // of those data that the application named
  std::unordered_map<uint64_t, uint32_t> shrunk;      // task << 8 | value: how many bytes it had when it was recorded
  std::unique_ptr<Extra[]> extras;
  Extra none;                                     // of the nodes that need none
  std::unique_ptr<std::byte[]> spill;             // accesses and arguments that do not fit into a record
  uint32_t nextras = 0;
  std::vector<Codelet *> codelets;
  Group *group = nullptr;                         // as the nodes have it; whoever begins a replay
  uint8_t epoch = 0;
  Task *whole = nullptr;                          // the replay that runs, as one task; whoever begins it
  std::unique_ptr<CapturedGraph> captured;             // where it can be one graph of a device
  // that graph's task, while it runs in the place of the nodes. Relaxed: see go_by_nodes()
  std::atomic<Task *> carrier{nullptr};
  // its name; 0: none runs. Pairs, by fences, with the flag kCancelled in its word
  std::atomic<TaskName> running{0};
  std::atomic<uint32_t> turn{0};                  // of nodes that have not ended; see go_by_nodes() for the fence
  std::shared_ptr<const Failure> failure;         // its first; under DataTable::blame_mutex

  SpinLock lock;             // guards the four below; under the rights of data
  std::unordered_map<const Datum *, uint32_t> place;  // of each datum in `uses`
  std::vector<uint32_t> loose;                    // data that it does not keep, by their place in `uses`
  TaskName last = 0;         // the last replay
  // replays submitted and not over; release at the end pairs with acquire of whoever changes it
  std::atomic<uint32_t> pending{0};

  void cancel_nodes(const TaskArena &) noexcept;  // of this turn; or what runs in their place
  consort_recording_id id() const noexcept { return {uint64_t{generation} << 32 | (number + 1)}; }
  std::string name_of(const Use &) const;
  void clear() noexcept;     // nothing of it runs, its records are nobody's
};

// The nodes of a recording that nothing precedes may run.
void release_roots(Replaying &, ThreadState &, const Recording &) noexcept;
// The tables of kReplay, kReplayBegun, kNode, kLastNode, kCarrier.
void set_replay_kinds(Kinds &) noexcept;

// All recordings of a runtime. Any thread.
class Recordings final : public DataKeepers {
 public:
  static constexpr uint32_t kMost = 4096;
  explicit Recordings(Replaying &);
  ~Recordings();

  Result<Recording *> add();                        // an empty shell, not live
  void give_back(Recording &) noexcept;             // cleared; its records are free for the next
  // the shell that had this name; the caller looks again under `control`
  Recording *find(consort_recording_id) const noexcept;
  // pairs with add()
  Recording *at(uint32_t number) const noexcept { return all_[number].load(std::memory_order_acquire); }
  Recording *of(const Task &node) const noexcept;

  uint32_t take_records(uint32_t n) noexcept;       // the first of n in a row; 0: none are left
  void give_records(uint32_t first, uint32_t n) noexcept;

  // A datum that a recording keeps is used by somebody else, who has its right. False: no memory.
  bool let_go(Datum &) noexcept override;
  // A codelet is being removed: recordings that use it die, and show it no more once they do not run.
  void forget(Codelet &) noexcept;
  // those of its nodes that have not started, if it runs; its word says so already
  void cancel(TaskName whole) noexcept;
  void note_failure(const Task &node, const std::shared_ptr<const Failure> &) noexcept;  // under DataTable::blame_mutex

  Recorder *keep(std::unique_ptr<Recorder>);
  void drop(Recorder *) noexcept;
  uint32_t next_serial() noexcept { return serial_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Replaying &rt_;
  std::mutex mutex_;                                // guards the lists below; leaf
  std::vector<uint32_t> free_;                      // shells
  struct Range { uint32_t first, n; };
  std::vector<Range> ranges_;                       // records that no recording has, by number
  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::atomic<Recording *> all_[kMost] = {};        // owned; release before n_; see at()
  std::atomic<uint32_t> n_{0}, serial_{1};  // n_: release, acquire in find(); serial_: relaxed, distinct
};

}  // namespace consort
