// mixed_program.hpp — a random program that mixes all features, as data. It can be judged by the oracle
// (mixed_oracle.hpp), run (mixed_run.hpp), printed, and run again without some of its steps.
//
// The generator's values in a Step never change. The oracle's predictions and the observed values stand in a Fate, one
// per step, made anew for each run. The oracle skips a step that is not valid (any more) at its place. So any subset of
// steps is a program, and generators need not look ahead.
#pragma once
#include <deque>
#include <random>
#include <sstream>

#include "api/harness.hpp"

namespace mixed {

using namespace consort_test;

// Places in Use::slot that are not the program's own data.
enum : int { kPad = -1, kSharedSum0 = -2, kSharedSum1 = -3, kSharedRedux = -4 };
inline constexpr int kGroups = 4;  // 0: the default group; the last one: cancelled as a whole
inline constexpr int kDoomedGroup = kGroups - 1;
// Parts of plans: part `i` of plan `p` is slot kParts + kMostParts * p + i.
inline constexpr int kPlans = 6, kParts = 1000, kMostParts = 4;
inline int part_slot(int plan, int i) { return kParts + kMostParts * plan + i; }
inline int plan_of(int slot) { return (slot - kParts) / kMostParts; }
inline constexpr int kTags = 64;  // of one program
// Step::worker: the nth core, the nth unit of a device, or the nth team of the machine that it runs on.
inline constexpr uint32_t kOnDevice = 100, kOnTeam = 200;

struct Use {
  int slot;
  uint32_t mode;
};

// One datum of the program. It may be registered anew: each time it begins another life.
struct Slot {
  enum Layout : uint8_t { kVector, kMatrix, kVariable } layout = kVector;
  int nx = 1, ny = 1, ld = 1;
  bool homeless = false, shadow = false;  // shadow: only for the children of tasks that write another slot
  int cells() const { return nx * ny; }
};

enum class Kind : uint8_t {
  kTask,
  kEnter,
  kOpen,
  kClose,
  kInvalidate,
  kRenew,
  kRenewLater,
  kGroupWait,
  kTaskWait,
  kWaitAll,
  kCancel,
  kGroupCancel,
  kSetOrdered,
  kSwap,
  kEnterLater,
  kCopy,
  kTagOpen,
  kTagClose,
  kTagNotify,
  kTagWait,
  kTagRestart,
  kEndRelease,
  kNoReady,
  kEach,
  kPlan,
  kPlanEnd,
  kRecord,
  kReplay,
  kPrefetch,
  kEvict,
  kWontUse,
  kWriteThrough,
  kMoveWorker
};
inline const char *name_of(Kind k) {
  constexpr const char *names[] = {
      "task",        "enter",     "open",     "close",     "invalidate",   "renew",       "renew_later",
      "group_wait",  "task_wait", "wait_all", "cancel",    "group_cancel", "set_ordered", "set_scheduler",
      "enter_later", "copy",      "tag_open", "tag_close", "tag_notify",   "tag_wait",    "tag_restart",
      "end_release", "no_ready",  "each",     "plan",      "plan_end",
      "record",      "replay",    "prefetch", "evict",     "wont_use",     "write_through",
      "move_worker"};
  return names[static_cast<int>(k)];
}

// Does the program's thread wait for tasks in such a step?
inline bool waits_for_tasks(Kind k) {
  return k == Kind::kEnter || k == Kind::kOpen || k == Kind::kRenew || k == Kind::kGroupWait || k == Kind::kTaskWait ||
         k == Kind::kWaitAll || k == Kind::kTagWait || k == Kind::kEach;
}

enum class Via : uint8_t { kReady, kBegin, kBody, kDone };  // the function that submits a child; in this order
inline constexpr const char *kViaNames[] = {"ready", "begin", "body", "done"};

struct Step {
  Kind kind = Kind::kTask;
  std::vector<Use> uses;
  std::vector<int> after;
  int parent = -1;    // submitted by that task, not by the program's thread
  int recorded = -1;  // submitted while that step (kRecord) records
  Via via = Via::kBody;
  int other = -1;  // the partner of an open or close; the task that is waited for or cancelled
  int number = 0;  // meaning depends on the kind
  int64_t k = 0;   // the value that writers add
  int32_t priority = 0;
  uint32_t worker = CONSORT_NONE;
  int group = 0;
  uint32_t pause = 0;
  // -- order that data do not say --
  int tag = -1, needs_tag = -1;  // carries it; comes after a tag that is reached later (kTagOpen)
  bool by_tags = false;          // comes after its predecessors by their tags, where they carry some
  std::vector<int> end_after;
  int end_release = -1, releases = -1;  // the step that releases its end; the task whose end its body releases
  int turns = 0;                        // repeats so often
  bool hooks = false, bundled = false;
  bool fails = false, empty = false, unordered = false, waits = false, plain = false;
  bool no_help = false;  // waits without helping
  bool team = false;     // a team may run it
  int context = -1;      // submitted there
};

// The predicted values for one run of a task: for each use the cells, empty where they are not predicted.
struct Sight {
  std::vector<std::vector<int64_t>> cells;
};

struct Fate {
  // -- the oracle's word --
  bool skip = true, cancelled = false;
  std::vector<Use> uses;
  std::vector<int> after, children;
  bool unordered = false;
  int group = 0;
  consort_status ends = CONSORT_OK;
  consort_status ends_ahead = CONSORT_OK;  // how else it may end on a device; as `ends`: in no other way
  std::vector<Sight> runs;                       // one for each time that its body runs
  std::vector<int64_t> leaves;                   // the values that a holder writes
  int tag = -1, releases = -1, blocked_in = -1;  // blocked_in: the window that it cannot run before the end of
  std::vector<int> tag_after, end_after;
  std::vector<int> by_tag;  // predecessors that carry one of tag_after, as those tags stand now
  bool end_held = false, end_released = false;
  int holds_itself = 0;  // its body holds its end, for children to let go
  bool in_window = false;  // the program's thread holds something back after this step
  // -- what happened --
  std::vector<Slot> shapes;             // of the data
  std::vector<std::vector<int>> where;  // their cells, as those of the whole
  std::vector<int> lives;               // and their registrations
  std::atomic<int> ran{0}, done{0}, ready{0}, begun{0}, dropped{0};
  std::atomic<uint64_t> name{0};  // as its body and hooks know it
  std::atomic<bool> over{false};
  std::atomic<uint32_t> worker{CONSORT_NONE}, team{0};  // where its body ran last; of how many
  consort_task_id id{0};
  std::string suspicion;  // a wrong value that its body saw, where faults are possible: wrong if the task ends well
};

// One registration of a slot: its memory, and the tasks inside.
struct Life {
  int slot = 0;
  consort_data_id id{0};
  std::vector<int64_t> home;
  std::vector<std::atomic<int>> inside;
  // the oracle's word on how it ends
  bool known = false;     // the home holds `last` once it is unregistered
  bool poisoned = false;  // unregistering it may answer why
  std::vector<int64_t> last;
  explicit Life(int s, int cells) : slot(s), inside(static_cast<size_t>(cells)) {}
};

struct Program {
  uint64_t seed = 0;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<char> dropped;  // by the shrinker
  uint32_t nworkers = 1;
  int own_slot = 0;   // for tasks that repeat, alone
  bool alone = true;  // no other program runs beside it

  bool has(int s) const { return s >= 0 && !dropped[static_cast<size_t>(s)]; }
};

inline std::string text_of(const Use &u) {
  const char *mode = u.mode & CONSORT_M_SCRATCH   ? "SCRATCH"
                     : u.mode & CONSORT_M_REDUX   ? u.mode & CONSORT_M_FIXED_TREE ? "REDUX_FIXED" : "REDUX"
                     : u.mode & CONSORT_M_COMMUTE ? "COMMUTE"
                     : u.mode == CONSORT_M_RW     ? "RW"
                     : u.mode == CONSORT_M_W      ? "W"
                                                  : "R";
  return std::string(mode) + "(" + std::to_string(u.slot) + ")";
}

inline std::string text_of(const Program &p, const std::deque<Fate> &fates) {
  std::ostringstream out;
  out << "program " << p.seed << ", slots:";
  for (size_t d = 0; d < p.slots.size(); ++d) {
    const Slot &x = p.slots[d];
    out << " " << d << ":" << x.nx << (x.ny > 1 ? "x" + std::to_string(x.ny) : "") << (x.homeless ? "h" : "")
        << (x.shadow ? "s" : "");
  }
  out << "\n";
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const Step &s = p.steps[i];
    const Fate &f = fates[i];
    if (p.dropped[i] || f.skip) continue;
    out << "  " << i << ": " << (s.empty ? "empty " : "") << name_of(s.kind);
    for (const Use &u : f.uses) out << " " << text_of(u);
    if (!f.after.empty()) out << " after";
    for (const int a : f.after) out << " " << a;
    if (s.parent >= 0) out << " child of " << s.parent << " via " << kViaNames[static_cast<int>(s.via)];
    if (s.recorded >= 0) out << " recorded by " << s.recorded;
    if (f.tag >= 0) out << " tag " << f.tag;
    if (!f.tag_after.empty()) out << " behind tags";
    for (const int a : f.tag_after) out << " " << a;
    if (!f.end_after.empty()) out << " ends after";
    for (const int a : f.end_after) out << " " << a;
    if (f.end_held) out << " end held until " << s.end_release;
    if (f.releases >= 0) out << " releases " << f.releases;
    if (s.turns) out << " turns " << s.turns;
    if (s.hooks) out << " hooks";
    if (s.bundled) out << " bundled";
    if (s.other >= 0) out << " of " << s.other;
    if (s.number) out << " number " << s.number;
    if (f.group) out << " group " << f.group;
    if (s.priority) out << " priority " << s.priority;
    if (s.worker != CONSORT_NONE) out << " worker " << s.worker;
    if (f.unordered) out << " unordered";
    if (s.fails) out << " fails";
    if (s.waits) out << " waits";
    if (f.cancelled) out << " cancelled";
    if (f.ends < 0) out << " -> " << consort_status_name(f.ends);
    if (s.kind == Kind::kTask) out << "  [ran " << f.ran << (f.over ? ", over" : "") << "]";
    out << "\n";
  }
  return out.str();
}

}  // namespace mixed
