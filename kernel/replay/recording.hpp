// The room replay: sequences of tasks that are recorded once and run many times. It includes exec, graph and below;
// observe and api use it. Start with recording.hpp, then recorder.hpp (how one is made) and replay.hpp (how it runs).
//
// recording.hpp — a sequence of tasks with resolved dependencies that can run repeatedly.
//
// Each recorded task is a node: a record of the arena that belongs to the recording and does not return to a thread
// state. When it ends, it prepares itself for the next replay. Nodes stand in the order of submission. Internal nodes
// follow: junctions between accesses of different kinds, and a tree that joins all ends in the final node. Owned by the
// runtime's table; the shell of a destroyed recording is reused.
//
// A recording keeps its data between replays. Such data are marked odd, so that another use takes the slow path, finds
// the recording and makes it release the datum. The next replay takes it back. So a replay claims only the data that
// others have used since.
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
    uint32_t mode;           // R, or including W: the mode of the whole
    uint32_t tokens;         // some task uses it as commutable
  };

  explicit Recording(uint32_t n) noexcept : number(n) {}
  ~Recording() { clear(); }

  const uint32_t number;
  uint32_t generation = 1;
  std::mutex control;        // guards the members below; taken before the submission right, never under it

  bool live = false;
  std::string dead;          // why it cannot be replayed any more
  std::atomic<uint32_t> first{0}, nnodes{0};      // its records; relaxed: a generation confirms them
  uint32_t ntasks = 0;
  uint64_t nedges = 0, bytes = 0, replays = 0;
  std::vector<uint32_t> edges, roots;             // by record number
  std::vector<Use> uses;
  std::unordered_map<uint32_t, std::string> names;    // of the data that the application named
  std::unordered_map<uint64_t, uint32_t> shrunk;      // task << 8 | value: its size when recorded
  std::unique_ptr<Extra[]> extras;
  Extra none;                                     // shared by the nodes that need none
  std::unique_ptr<std::byte[]> spill;             // accesses and arguments that do not fit into a record
  uint32_t nextras = 0;
  std::vector<Codelet *> codelets;
  Group *group = nullptr;                         // the nodes' group; set by the thread that begins a replay
  uint8_t epoch = 0;
  Task *whole = nullptr;                          // the running replay as one task; set by the thread that begins it
  std::unique_ptr<CapturedGraph> captured;             // set if a device can run it as one graph
  // the carrier while it runs in place of the nodes. relaxed: see go_by_nodes()
  std::atomic<Task *> carrier{nullptr};
  // its name; 0: none runs. Pairs, by fences, with the flag kCancelled in its word
  std::atomic<TaskName> running{0};
  std::atomic<uint32_t> turn{0};                  // generation of unended nodes; see go_by_nodes() for the fence
  std::shared_ptr<const Failure> failure;         // the first failure; under DataTable::blame_mutex

  SpinLock lock;             // guards the four below; taken under the rights over data
  std::unordered_map<const Datum *, uint32_t> place;  // index of each datum in `uses`
  std::vector<uint32_t> loose;                    // data that it does not keep, by index in `uses`
  TaskName last = 0;         // the last replay
  // replays submitted and not ended; release at the end pairs with the acquire of a thread that changes it
  std::atomic<uint32_t> pending{0};

  void cancel_nodes(const TaskArena &) noexcept;  // nodes of this replay, or the carrier
  consort_recording_id id() const noexcept { return {uint64_t{generation} << 32 | (number + 1)}; }
  std::string name_of(const Use &) const;
  void clear() noexcept;     // precondition: nothing of it runs, and its records are free
};

// Makes all nodes without predecessors ready.
void release_roots(Replaying &, ThreadState &, const Recording &) noexcept;
// Sets the tables of kReplay, kReplayBegun, kNode, kLastNode, kCarrier.
void set_replay_kinds(Kinds &) noexcept;

// All recordings of a runtime. Any thread.
class Recordings final : public DataKeepers {
 public:
  static constexpr uint32_t kMost = 4096;
  explicit Recordings(Replaying &);
  ~Recordings();

  Result<Recording *> add();                        // an empty shell, not live
  void give_back(Recording &) noexcept;             // clears it and frees its records
  // returns the shell that had this name; the caller checks again under `control`
  Recording *find(consort_recording_id) const noexcept;
  // pairs with add()
  Recording *at(uint32_t number) const noexcept { return all_[number].load(std::memory_order_acquire); }
  Recording *of(const Task &node) const noexcept;

  uint32_t take_records(uint32_t n) noexcept;       // returns the first of n consecutive records; 0: not available
  void give_records(uint32_t first, uint32_t n) noexcept;

  // Releases a datum that a recording keeps. Precondition: the caller has the datum's right. Returns false if out of
  // memory.
  bool let_go(Datum &) noexcept override;
  // The codelet is being removed: recordings that use it become invalid, and drop their pointer once they do not run.
  void forget(Codelet &) noexcept;
  // cancels the nodes of a running replay that have not started; its word is already marked
  void cancel(TaskName whole) noexcept;
  // precondition: DataTable::blame_mutex is held
  void note_failure(const Task &node, const std::shared_ptr<const Failure> &) noexcept;

  Recorder *keep(std::unique_ptr<Recorder>);
  void drop(Recorder *) noexcept;
  uint32_t next_serial() noexcept { return serial_.fetch_add(1, std::memory_order_relaxed); }

 private:
  Replaying &rt_;
  std::mutex mutex_;                                // guards the lists below; leaf
  std::vector<uint32_t> free_;                      // shells
  struct Range { uint32_t first, n; };
  std::vector<Range> ranges_;                       // records that belong to no recording, by number
  std::vector<std::unique_ptr<Recorder>> recorders_;
  std::atomic<Recording *> all_[kMost] = {};        // owned; release before n_; see at()
  std::atomic<uint32_t> n_{0}, serial_{1};  // n_: release, acquire in find(); serial_: relaxed, distinct
};

}  // namespace consort
