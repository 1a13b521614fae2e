// data.hpp — the record of a datum: its last users, its location, its layout.
//
// A datum is a slot in an arena, found by its number, named by number and generation. Its first line is the end of its
// chain of accesses and changes only under the submission right (graph/submit.hpp). The second line is read by threads
// that run tasks; it changes when a task with exclusive access ends. Shape and view follow, or are on the heap if they
// are large.
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

// A data interface loaded by this runtime.
struct Layout {
  static constexpr uint32_t kMostBytes = 256;  // limit for a shape, and for a view
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
// The order of accesses of a datum beyond readers and writers. The room graph makes and reads it (AccessOrder); this
// room names parts by it, and frees it with its datum.
struct DatumOrder {
  virtual ~DatumOrder();

  // of a part: the name of its plan. Constant before the part is visible to other threads
  const std::string *plan = nullptr;
  uint32_t number = 0;                // of a part or a format (graph/formats.hpp): its index
};
// Optional properties of a datum.
struct DatumExtra {
  DatumExtra();
  ~DatumExtra();
  struct Block { uint32_t space; consort_addr addr; uint64_t bytes; };
  struct Scratch { TaskName user; uint32_t space; std::vector<Block> blocks; std::unique_ptr<std::byte[]> view; };
  std::mutex mutex;                          // guards scratch: several tasks take and return concurrently
  std::vector<Block> blocks;                 // memory allocated for a datum without a home
  std::unique_ptr<Replicas> replicas;        // set if it does not live in one space; under Memory's mutex
  std::vector<std::unique_ptr<Scratch>> scratch;
  // why it is poisoned; under DataTable::blame_mutex, because commuting tasks may fail concurrently
  std::shared_ptr<const Failure> blame;
  std::string name;
};

// Locations of the contents of a datum with a record (replica.hpp), for readers without Memory's mutex. Policies ask
// about many data at a time, so this is a line of the slot instead of a pointer.
struct Placement {
  RelaxedValue<coherence::Spaces> valid, arriving;  // arriving: contents in flight to that space
  std::atomic<bool> known{false};  // false: see `state`; release where the record is made pairs with placement_of()
};

struct alignas(64) Datum {
  static constexpr uint32_t kInlineReaders = 4;
  static constexpr uint32_t kStore = 104;
  static constexpr uint32_t kOdd = 1u << 31;  // in `generation`: plain accesses use the slow path; the rest is the name
  // -- under the submission right --
  TaskName writer;                           // the last one, 0: none
  TaskName reader[kInlineReaders];           // readers since, nreaders of them: the first ones
  TaskName *more;                            // the further ones; malloc
  uint32_t nreaders, capacity;               // capacity of `more`
  std::atomic<uint32_t> generation;          // of the name; release where it ends pairs with find()
  SpinLock lock;
  // the recording that keeps it between replays (replay/recording.hpp), from 1; 0: none
  uint16_t keeper;
  // -- for threads that run tasks --
  alignas(64) consort_datum pub;             // id: its handle
  void *view;
  Layout *layout;
  std::atomic<DatumExtra *> rare;            // nullptr: none; owned. release where it is made pairs with extra()
  // the address of its registration, 0: none; in the free list: the next one's number
  std::atomic<uint64_t> home;  // release in graph/submit_full.cpp pairs with the acquire where a name is asked for by address
  std::atomic<uint32_t> state;  // relaxed: the right to the datum orders it; without the right a hint
  // distance in slots to the datum whose lock also covers this chain; release where it is set pairs with lock_of()
  std::atomic<int32_t> lock_at;
  // optional; owned, but a part's belongs to its plan. release where it is made pairs with acquire
  std::atomic<DatumOrder *> discipline;
  alignas(16) std::byte store[kStore];
  Placement places;                        // under Memory's mutex, like its record

  DatumExtra *extra() const noexcept { return rare.load(std::memory_order_acquire); }
  const void *shape() const noexcept {
    return layout->in_slot ? store : static_cast<std::byte *>(view) - layout->view_at;
  }
  [[gnu::always_inline]] TaskName &reader_at(uint32_t i) noexcept { return i < kInlineReaders ? reader[i] : more[i - kInlineReaders]; }
  static Datum *of(const consort_datum *p) noexcept {
    return reinterpret_cast<Datum *>(const_cast<char *>(reinterpret_cast<const char *>(p)) - offsetof(Datum, pub));
  }
};
static_assert(sizeof(Datum) == 256 && offsetof(Datum, pub) == 64 && offsetof(Datum, places) >= 192);

// Returns whether it has no memory yet because it was never written.
inline bool is_nowhere(const Datum &d) noexcept {
  return d.pub.bytes && data_state::space(d.state.load(std::memory_order_relaxed)) == data_state::kNowhere;
}

// Returns the lock that covers a datum's chain. Constant while the handle may be used; may be called for any slot.
inline SpinLock &lock_of(Datum &d) noexcept { return (&d + d.lock_at.load(std::memory_order_acquire))->lock; }

class DataTable {
 public:
  static constexpr uint32_t kMostBlocks = 16;
  explicit DataTable(Platform &platform) : platform_(platform) {}
  Result<void> open();

  Result<Layout *> layout(std::string_view name);           // loads the plugin at first use
  Result<Datum *> add(const consort_data_desc &);           // at home in host memory
  Result<Datum *> add(const consort_data_desc &, uint32_t home);  // at home in another space; its driver takes the memory
  // in any state: the caller checks the generation again under the right
  Datum *find(consort_data_id id) const noexcept {
    const auto number = static_cast<uint32_t>(id.v);
    return arena_.holds(number) ? arena_.at(number) : nullptr;
  }
  // The current slots, for a caller that reads several.
  struct Slots {
    Datum *base;
    uint32_t carved;
    bool holds(consort_data_id id) const noexcept { return static_cast<uint32_t>(id.v) - 1 < carved - 1; }
    Datum &at(consort_data_id id) const noexcept { return base[static_cast<uint32_t>(id.v)]; }
  };
  Slots slots() const noexcept { return {arena_.at(0), arena_.carved()}; }
  // Returns the address for prefetches; any number is valid. (A function that only prefetches is removed by the
  // compiler.)
  const std::byte *place(consort_data_id id) const noexcept {
    const size_t offset = size_t{static_cast<uint32_t>(id.v)} * sizeof(Datum);
    return reinterpret_cast<const std::byte *>(reinterpret_cast<uintptr_t>(arena_.at(0)) + offset);
  }
  static bool is(const Datum &d, consort_data_id id) noexcept {
    return (d.generation.load(std::memory_order_relaxed) & ~Datum::kOdd) == id.v >> 32;
  }
  static bool is_plain(const Datum &d, consort_data_id id) noexcept {  // and plain accesses may use the fast path
    return d.generation.load(std::memory_order_relaxed) == id.v >> 32;
  }
  enum Show : uint32_t { kShown = 0, kHidden = data_state::kHidden };
  // same layout and sizes, without a home. Hidden: an internal datum, not counted
  Result<Datum *> add_like(const Datum &, Show, const char *name = nullptr);
  template <class F>
  // calls f for each datum with a layout; precondition: none is added or removed meanwhile
  void each(F f) const {
    for (uint32_t i = 1; i < arena_.carved(); ++i)
      if (Datum &d = *arena_.at(i); d.layout) f(d);
  }
  Datum *find_home(const void *, consort_data_id *) const noexcept;  // linear search
  // Manual construction: takes a slot with zeroed memory for shape and view; then, once both sizes are known, it is
  // shown or put back.
  Result<Datum *> take_slot(Layout *);
  void show(Datum &, uint32_t state) noexcept;
  void put_back(Datum &) noexcept;
  void remove(Datum &) noexcept;                            // precondition: no task uses it, and its name is invalid
  // For messages on paths that may not fail: without memory it returns "some datum".
  std::string name(const Datum &) const noexcept;
  DatumExtra *extra(Datum &) noexcept;                      // makes it if necessary; nullptr: out of memory
  std::shared_ptr<const Failure> blame(const Datum &) const noexcept;
  void blame(Datum &, std::shared_ptr<const Failure>) noexcept;  // nullptr: clears it
  uint64_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
  void close() noexcept;                                    // precondition: nothing runs; frees all registered data

  // Makes room for one more reader; removes ended ones first. Returns false if out of memory.
  bool make_room(const TaskArena &, Datum &) noexcept;

  consort_status give_memory(Datum &, uint32_t space) noexcept;                          // for a datum without a home
  // Provides memory without contents for one task, until give_scratch(). Per task, not per worker: a waiting body may
  // share its worker.
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
  std::atomic<uint64_t> live_{0};  // relaxed: a statistic
  std::mutex layouts_mutex_;
  // only grows; layouts_n_ release pairs with acquire in layout()
  std::vector<std::unique_ptr<Layout>> layouts_;
  std::atomic<Layout *> recent_{nullptr};  // release in layout lookups pairs with the acquire there: the layout is filled

 public:
  DataPlacement *placement = nullptr;  // keeps copies of data in spaces; nullptr: each datum lives in one. Set at the start
  mutable std::mutex blame_mutex;                // for data on which several tasks may fail concurrently; leaf
};

// The error for a null or stale handle.
consort_status refuse_datum(consort_data_id) noexcept;

}  // namespace consort
