// data.hpp — what a runtime knows of one datum: who uses it last, where it lives, its layout.
//
// A datum is a slot in an arena, found by its number, named by number and generation. Its first line is the end
// of its chain of accesses and changes only under the submission right (graph/submit.hpp). The second is read by
// whoever runs a task; it changes when a task that alone holds the datum ends. Shape and view stand behind
// them, or on the heap when they are large.
#pragma once
#include <consort/consort.h>
#include <consort/interface.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/relaxed_value.hpp"
#include "base/spin.hpp"
#include "machine/coherence.hpp"
#include "task/failure.hpp"
#include "task/task.hpp"

namespace consort {

class DataPlacement;
struct Platform;

// A data interface that this runtime has loaded.
struct Layout {
  static constexpr uint32_t kMostBytes = 256;  // of a shape, and of a view
  const consort_interface_ops *ops;
  std::string name;
  uint32_t view_at;       // offset of the view behind the shape
  bool in_slot;           // both fit into the slot
};

namespace data_state {
inline constexpr uint32_t kValid = 1, kPoisoned = 2, kHidden = 4, kPlain = kValid | kPoisoned;
// space of the replica; Many: replica.hpp
inline constexpr uint32_t kSpaceShift = 8, kNowhere = 0xffffff, kMany = 0xfffffe;
constexpr uint32_t space(uint32_t s) { return s >> kSpaceShift; }
}  // namespace data_state

struct Datum;
struct Replicas;
// How the accesses of a datum are ordered, where that is more than readers and writers. The room graph makes and reads
// it (AccessOrder); this room names a part by it, and frees it with its datum.
struct DatumOrder {
  virtual ~DatumOrder();

  const std::string *plan = nullptr;  // of a part: the name of its plan. Settled before any thread knows the part
  uint32_t number = 0;                // of a part: which; of a format (graph/formats.hpp): which
};
// What few data have.
struct DatumExtra {
  DatumExtra();
  ~DatumExtra();
  struct Block { uint32_t space; consort_addr addr; uint64_t bytes; };
  struct Scratch { TaskName user; uint32_t space; std::vector<Block> blocks; std::unique_ptr<std::byte[]> view; };
  std::mutex mutex;                          // guards scratch: several tasks take and give back at once
  std::vector<Block> blocks;                 // memory that the runtime gave to a datum without a home
  std::unique_ptr<Replicas> replicas;        // where it lives, if that is not one space; under Memory's mutex
  std::vector<std::unique_ptr<Scratch>> scratch;
  // why it is poisoned; under DataTable::blame_mutex: those who commute fail beside each other
  std::shared_ptr<const Failure> blame;
  std::string name;
};

// Where its contents are, of a datum that has a record (replica.hpp), for whoever asks without Memory's mutex: policies
// ask about many at a time, so it is a line of the slot and not what the slot leads to.
struct Placement {
  RelaxedValue<coherence::Spaces> valid, arriving;  // arriving: they are on their way there
  std::atomic<bool> known{false};  // else `state` says it; release where the record is made pairs with placement_of()
};

struct alignas(64) Datum {
  static constexpr uint32_t kInlineReaders = 4;
  static constexpr uint32_t kStore = 104;
  static constexpr uint32_t kOdd = 1u << 31;  // in `generation`: plain accesses go the long way; the name is the rest
  // -- under the submission right --
  TaskName writer;                           // last, 0: none
  TaskName reader[kInlineReaders];           // those since, nreaders of them: here first
  TaskName *more;                            // then here; malloc
  uint32_t nreaders, capacity;               // capacity of `more`
  std::atomic<uint32_t> generation;          // of the name; release where it ends pairs with find()
  SpinLock lock;
  // the recording that keeps it between replays (replay/recording.hpp), from 1; 0: none
  uint16_t keeper;
  // -- for whoever runs a task --
  alignas(64) consort_datum pub;             // id: its handle
  void *view;
  Layout *layout;
  std::atomic<DatumExtra *> rare;            // nullptr: none of it; owned. release where it is made pairs with extra()
  // the address that it was registered with, 0: none; in the free list: the next one's number
  std::atomic<uint64_t> home;  // release in graph/submit_full.cpp pairs with the acquire where a name is asked for by address
  std::atomic<uint32_t> state;  // relaxed: the right to the datum orders it; else a hint
  // slots from here to the datum whose lock covers this one's chain, too; release where it is set pairs with lock_of()
  std::atomic<int32_t> lock_at;
  // few have one; owned, but a part's is its plan's. release where it is made pairs with acquire
  std::atomic<DatumOrder *> discipline;
  alignas(16) std::byte store[kStore];
  Placement places;                        // under Memory's mutex, as its record is

  DatumExtra *extra() const noexcept { return rare.load(std::memory_order_acquire); }
  const void *shape() const noexcept {
    return layout->in_slot ? store : static_cast<std::byte *>(view) - layout->view_at;
  }
  TaskName &reader_at(uint32_t i) noexcept { return i < kInlineReaders ? reader[i] : more[i - kInlineReaders]; }
  static Datum *of(const consort_datum *p) noexcept {
    return reinterpret_cast<Datum *>(const_cast<char *>(reinterpret_cast<const char *>(p)) - offsetof(Datum, pub));
  }
};
static_assert(sizeof(Datum) == 256 && offsetof(Datum, pub) == 64 && offsetof(Datum, places) >= 192);

// It has no memory yet: nobody has written it.
inline bool is_nowhere(const Datum &d) noexcept {
  return d.pub.bytes && data_state::space(d.state.load(std::memory_order_relaxed)) == data_state::kNowhere;
}

// Whose lock covers a datum's chain. Does not change while anybody may use its handle, and may be asked of any slot.
inline SpinLock &lock_of(Datum &d) noexcept { return (&d + d.lock_at.load(std::memory_order_acquire))->lock; }

class DataTable {
 public:
  static constexpr uint32_t kMostBlocks = 16;
  explicit DataTable(Platform &platform) : platform_(platform) {}
  Result<void> open();

  Result<Layout *> layout(std::string_view name);           // loads the plugin at first use
  Result<Datum *> add(const consort_data_desc &);           // its home is the host's
  Result<Datum *> add(const consort_data_desc &, uint32_t home);  // of another space; the driver there takes it
  // whatever its state: the caller checks the generation again under the right
  Datum *find(consort_data_id id) const noexcept {
    const auto number = static_cast<uint32_t>(id.v);
    return arena_.holds(number) ? arena_.at(number) : nullptr;
  }
  // The slots as they are now, for a caller that looks at several.
  struct Slots {
    Datum *base;
    uint32_t carved;
    bool holds(consort_data_id id) const noexcept { return static_cast<uint32_t>(id.v) - 1 < carved - 1; }
    Datum &at(consort_data_id id) const noexcept { return base[static_cast<uint32_t>(id.v)]; }
  };
  Slots slots() const noexcept { return {arena_.at(0), arena_.carved()}; }
  // Where it is, to ask for its lines; any number will do. (A function that asks itself is dropped: it has no effect.)
  const std::byte *place(consort_data_id id) const noexcept {
    const size_t offset = size_t{static_cast<uint32_t>(id.v)} * sizeof(Datum);
    return reinterpret_cast<const std::byte *>(reinterpret_cast<uintptr_t>(arena_.at(0)) + offset);
  }
  static bool is(const Datum &d, consort_data_id id) noexcept {
    return (d.generation.load(std::memory_order_relaxed) & ~Datum::kOdd) == id.v >> 32;
  }
  static bool is_plain(const Datum &d, consort_data_id id) noexcept {  // and plain accesses may go the short way
    return d.generation.load(std::memory_order_relaxed) == id.v >> 32;
  }
  enum Show : uint32_t { kShown = 0, kHidden = data_state::kHidden };
  // same layout and sizes, without a home. Hidden: the kernel's own, not counted
  Result<Datum *> add_like(const Datum &, Show, const char *name = nullptr);
  template <class F>
  // of those that have a layout now; whoever calls knows that none comes or goes
  void each(F f) const {
    for (uint32_t i = 1; i < arena_.carved(); ++i)
      if (Datum &d = *arena_.at(i); d.layout) f(d);
  }
  Datum *find_home(const void *, consort_data_id *) const noexcept;  // looks at every datum
  // By hand: with memory for shape and view, zeroed; then, once both sizes are known, named, or put back.
  Result<Datum *> take_slot(Layout *);
  void show(Datum &, uint32_t state) noexcept;
  void put_back(Datum &) noexcept;
  void remove(Datum &) noexcept;                            // no task uses it any more; its name is already dead
  // For messages, which are made on ways that may not fail: without memory it is "some datum".
  std::string name(const Datum &) const noexcept;
  DatumExtra *extra(Datum &) noexcept;                      // makes it; nullptr: no memory
  std::shared_ptr<const Failure> blame(const Datum &) const noexcept;
  void blame(Datum &, std::shared_ptr<const Failure>) noexcept;  // nullptr: nobody
  uint64_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
  void close() noexcept;                                    // nothing runs: frees what is still registered

  // Room for one more reader; forgets those that are done first. False: no memory.
  bool make_room(const TaskArena &, Datum &) noexcept;

  consort_status give_memory(Datum &, uint32_t space) noexcept;                          // for one without a home
  // Memory without contents for one task, until give_scratch(). Not a worker's: a body that waits may share its worker.
  consort_status take_scratch(Datum &, TaskName, uint32_t space, const void **view) noexcept;
  void give_scratch(Datum &, TaskName) noexcept;

 private:
  void give_slot(Datum &) noexcept;
  consort_status give_name(Datum &, const char *name);
  // may throw
  consort_status allocate(const Datum &, uint32_t space, std::vector<DatumExtra::Block> &, std::byte *view);
  void free_blocks(std::vector<DatumExtra::Block> &) noexcept;

  Platform &platform_;
  Arena<Datum> arena_;
  SpinLock lock_;                                           // guards free_
  uint32_t free_ = 0;
  std::atomic<uint64_t> live_{0};  // relaxed: a count that is only shown
  std::mutex layouts_mutex_;
  // only grows; layouts_n_ release pairs with acquire in layout()
  std::vector<std::unique_ptr<Layout>> layouts_;
  std::atomic<Layout *> recent_{nullptr};  // release in layout lookups pairs with the acquire there: the layout is filled

 public:
  DataPlacement *placement = nullptr;      // keeps copies of data in spaces; nullptr: no datum is in several. Set at the start
  mutable std::mutex blame_mutex;                // of data that several tasks may fail on at once; leaf
};

// Of a handle that names none: null, or stale.
consort_status refuse_datum(consort_data_id) noexcept;

}  // namespace consort
