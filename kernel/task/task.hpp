// The room task: records of tasks, data, codelets, groups, failures and threads, and the edges between tasks. It
// decides nothing about when a task runs. It includes machine, plugin and base; model, sched, graph, exec and those
// above use it. Start with task.hpp, then edges.hpp, data.hpp and thread_state.hpp.
//
// task.hpp — the record of one task: three cache lines in an arena, recycled.
//
// The first line is what a policy sees. The second holds accesses and small arguments, the third the kernel's state. A
// record belongs to the thread state that carved it (thread_state.hpp) and returns to it. Between submit and
// completion, the thread that moves the task to its next state owns it.
//
// A task's name is its generation and its record's number. `word` is authoritative for both: while its generation
// equals the name's, the task is unfinished. So one load detects a stale name, and the exchange of `word` at the end
// both closes the list of successors and invalidates the name.
#pragma once
#include <consort/consort.h>
#include <consort/driver.h>
#include <consort/scheduler.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/arena.hpp"
#include "base/spin.hpp"

namespace consort {

struct Codelet;
struct Group;
struct Datum;
struct Extra;
struct Staging;
struct TaskOptions;

using TaskName = uint64_t;  // generation << 32 | number of the record; 0: none

// Low half of Task::word: number of a link's record (24 bits), its slot (5), flags (3).
namespace word {
inline constexpr uint32_t kIssued = 1, kWaited = 2, kCancelled = 4, kFlags = 7;
inline constexpr uint32_t kSlotBits = 5, kRecordBits = 24;
constexpr uint32_t generation(uint64_t w) { return static_cast<uint32_t>(w >> 32); }
constexpr uint32_t link(uint64_t w) { return static_cast<uint32_t>(w) >> 3; }
constexpr uint64_t with_link(uint64_t w, uint32_t link) {
  return (w & (~uint64_t{0} << 32 | kFlags)) | uint64_t{link} << 3;
}
constexpr uint32_t make_link(uint32_t record, uint32_t slot) { return record << kSlotBits | slot; }
}  // namespace word

// Task::pending: predecessors not yet issued (high half), not yet complete (low half).
namespace pending {
inline constexpr uint64_t kComplete = 1, kIssue = uint64_t{1} << 32, kBoth = kIssue | kComplete;
inline constexpr uint64_t kClaimed = uint64_t{1} << 63;  // issued behind its predecessors: completion must not push it
// above any number of predecessors: prevents release while the task is linked
inline constexpr uint64_t kGuard = uint64_t{1} << 30;
}  // namespace pending

enum TaskBits : uint16_t {
  kSpecial = 1 << 0,      // no body: its kind decides what happens when it is ready
  kUncounted = 1 << 1,    // its end is not counted, or counted by its kind
  kBound = 1 << 4,        // bound to one worker: bypasses the policy
  kAfter = 1 << 5,        // has explicit predecessors and inherits their failures
  kScratch = 1 << 6,      // uses scratch memory
  kTokens = 1 << 7,       // commutes: needs the tokens of these data
  kFollowed = 1 << 8,     // issued behind unfinished predecessors
  kOdd = 1 << 9,          // some datum needs individual checks before and after the body
  kTokensHeld = 1 << 10,  // has its tokens
  kUnite = 1 << 11,       // internal: unites copies of a datum (graph/reduction.hpp)
  kMore = 1 << 12,        // hooks, tags, completion holds, bundles: graph/task_options.hpp
  kOver = 1 << 14,        // its end is in progress: callbacks, if any
  kWatched = 1 << 15      // its codelet has can_execute, or counts: eligibility.hpp
};

// Task::follow of a hold: one exchange between the waiting thread and the end of the last predecessor.
namespace hold {
inline constexpr uint8_t kWaiting = 0, kGranted = 1, kAbandoned = 2;
}

// Task kinds. Each has a table of functions (kinds.hpp). kEmpty to kStored have no body.
enum class TaskKind : uint8_t {
  kPlain,        // runs the body of its codelet
  kEmpty,        // orders other tasks
  kHold,         // the application acquires a datum: granted when ready, ends at its release
  kInvalidate,   // drops its datum's contents
  kRetire,       // frees its datum
  kGate,         // a gate for successors; ended by a tag or by other tasks (graph/tags.hpp, graph/task_options.hpp)
  kDropCopies,   // ends a reduction whose copies are not needed (graph/reduction.hpp)
  kStep,         // of a plan (graph/partition_order.hpp)
  kMessage,      // to or from another rank (remote/message.hpp)
  kStored,       // to or from a file of a checkpoint (remote/checkpoints.hpp)
  // -- of a recording (replay/recording.hpp) --
  kReplay,       // a replay as a whole, which has not begun
  kReplayBegun,  // a replay whose nodes run
  kNode,         // a recorded task, or a junction between recorded tasks
  kLastNode,     // the node after all others
  kCarrier       // runs in place of all nodes (exec/native_graph.hpp)
};
inline constexpr size_t kTaskKinds = 15;

inline constexpr uint32_t kInlineLinks = 8, kChunkLinks = 24, kPayload = 64;
inline constexpr uint8_t kMixed = 0xff;

// Once the task is issued on a queue no policy reads it, and two fields change their meaning. Its ticket (queue number
// << 48 | sequence) is in pub.footprint; the links that were in `word` are in pub.codelet.
struct alignas(64) Task {
  consort_task pub;                       // sched[] holds links 4..7 until the task is ready, then the policy's words
  alignas(64) std::byte payload[kPayload];
  uint32_t link[4];                       // links 0..3: the next link of the list in which each is
  Codelet *codelet;
  Group *group;
  Extra *extra;                           // optional properties; in the free list: the next record
  uint16_t bits;
  // owner of the record; of a node: number of nodes of its recording that follow in memory, saturated
  uint16_t thread;
  uint8_t nargs;
  TaskKind kind;
  uint8_t epoch;                          // epoch of the group at the submission
  // Sync domain common to all issued predecessors; 0: none yet, kMixed: several. relaxed. Of a hold: acq_rel where it
  // is granted (hold_ready()) or abandoned; the waiter's acquire sees what the predecessors wrote.
  std::atomic<uint8_t> follow;
  std::atomic<uint64_t> pending;  // acq_rel: the thread that decrements it to 0 sees the stores of all predecessors
  std::atomic<uint64_t> word;             // last: unused in lent records; acq_rel at the end, acquire in edges.hpp

  bool recorded() const noexcept { return kind >= TaskKind::kNode; }    // its record belongs to a recording
  bool replayed() const noexcept { return kind >= TaskKind::kReplay; }  // or it is a replay as a whole
  consort_access *accesses() const noexcept { return const_cast<consort_access *>(pub.access); }
};
static_assert(sizeof(Task) == 192 && offsetof(Task, word) == 184);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Links beyond those in the record. Each record has one chunk (TaskArena); a task with still more links borrows records
// of its thread with theirs. A borrowed record keeps `thread`, `extra` (free list) and `word`.
struct alignas(64) LinkChunk {
  uint32_t owner, next;                   // record numbers: of the task, of its next borrowed one (0: none)
  uint32_t link[kChunkLinks];
};

// Optional properties of a task. Each record has space for one (TaskArena); extras of recorded tasks belong to their
// recording. The pointers are owned and come from malloc, unless noted. The fast submission path fills the first line;
// the last one holds a short name and a few predecessors.
struct Ticket { uint64_t queue, seq; };
struct CommuteTokenList {                        // of a task that needs several tokens
  uint32_t n, held, refused, reserved;    // it holds the first `held`
  Datum **datum() noexcept { return reinterpret_cast<Datum **>(this + 1); }
};
static_assert(sizeof(CommuteTokenList) % sizeof(Datum *) == 0);
struct alignas(64) Extra {
  static constexpr uint32_t kShortName = 32, kFewAfter = 3;
  void (*done)(void *, const struct consort_outcome *) = nullptr;
  void *done_arg = nullptr;
  const char *name = nullptr;             // short_name, or long_name
  TaskName *after = nullptr;              // explicit predecessors: few_after, or long_after
  uint64_t work = 0;
  uint32_t nafter = 0;
  uint32_t worker = CONSORT_NONE;         // bound to this worker
  uint32_t team = CONSORT_NONE;           // bound to this team, led by `worker`; or popped for it and waiting for data
  uint32_t context = 0;                   // of its own context (sched/context.hpp); 0: the runtime's. Counted there
  uint32_t chunks = 0;                    // the first record borrowed for its LinkChunk
  SpinLock lock;                          // tickets: several issuers may add concurrently
  bool is_beside_record = false;          // made by TaskArena; else its task belongs to a recording, and ends by its kind
  TaskOptions *more = nullptr;            // with kMore; by new
  void *spill = nullptr;                  // accesses and arguments that fit nowhere else
  Ticket *tickets = nullptr;              // predecessors issued on queues of one sync domain
  CommuteTokenList *tokens = nullptr;     // of all data on which it commutes, if these are several
  Staging *staging = nullptr;             // its data in flight, or pinned (memory/memory.hpp); by new
  Staging *reserved = nullptr;            // becomes `staging` at its turn (Memory::reserve()); by new
  uint32_t ntickets = 0, ticket_room = 0;
  char *long_name = nullptr;
  TaskName *long_after = nullptr;
  char short_name[kShortName];
  TaskName few_after[kFewAfter];

  Extra() noexcept {}                     // leaves the last line uninitialised
  Extra(const Extra &) = delete;          // it points into itself
  Extra &operator=(const Extra &) = delete;
  bool set_name(const char *) noexcept;   // copies it. False: out of memory
  // Reserves names of `n` predecessors in all and keeps the first `nafter`. Returns false if out of memory.
  bool make_room_after(uint32_t n) noexcept;
  // Returns whether it needs no action when its task ends.
  bool is_idle_at_end() const noexcept {
    return is_beside_record &&
           !(reinterpret_cast<uintptr_t>(done) | reinterpret_cast<uintptr_t>(more) | reinterpret_cast<uintptr_t>(spill) |
             reinterpret_cast<uintptr_t>(tickets) | reinterpret_cast<uintptr_t>(tokens) |
             reinterpret_cast<uintptr_t>(staging) | reinterpret_cast<uintptr_t>(reserved) |
             reinterpret_cast<uintptr_t>(long_name) | reinterpret_cast<uintptr_t>(long_after) | context | chunks);
  }
};
static_assert(sizeof(Extra) == 192 && offsetof(Extra, more) == 64);

class TaskArena;

// acquire: the stores of the predecessors are visible. False: a queue may already run or refuse a task that follows
// them.
inline bool predecessors_ended(const Task &t) noexcept { return !(t.pending.load(std::memory_order_acquire) & 0xffffffff); }

// Returns whether the record still has that name; false: the task has ended. acquire: the stores of an ended task are
// visible.
inline bool is_live(const Task &record, TaskName name) noexcept {
  return word::generation(record.word.load(std::memory_order_acquire)) == name >> 32;
}

}  // namespace consort
