// memory_state.hpp — what Memory owns: the records of all copies, under its mutex.
//
// Private to the room. Each function is called under the mutex unless its comment says [any], or it takes it itself.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.hpp"
#include "machine/route.hpp"
#include "memory/eviction_queue.hpp"
#include "memory/hint_ring.hpp"
#include "memory/memory.hpp"
#include "memory/mover.hpp"
#include "memory/next_use.hpp"
#include "memory/request.hpp"
#include "memory/staging.hpp"
#include "memory/transfer.hpp"
#include "task/replica.hpp"

namespace consort {

struct Plugin;
struct Frame;
struct PartitionPlan;
struct Space;

class MemoryState final : public MoverOwner {
 public:
  explicit MemoryState(DataManagement &);
  ~MemoryState();
  Result<void> open();                                     // limits, routes, movers
  Result<void> start_threads();
  void stop_threads() noexcept;                            // nothing is on its way
  void close() noexcept;                                   // after the data: gives all memory back

  // [any] A task of a codelet that may run where memory is counted is about to be submitted (Codelets::foresee()).
  // The caller has the submission right over its data, and the task hangs in no chain yet.
  void foresee(const Task &t) noexcept {
    outlook_.note(t);
    if (prefetching_.load(std::memory_order_relaxed)) [[unlikely]] keep_records(t);
  }
  // Is memory of this space counted? Not the host's own, unless it is limited.
  bool manages(uint32_t space) const noexcept { return stores_[space].counted; }

  // Is scratch memory of a task there granted with the task's data? Else DataTable gives it.
  bool grants_scratch(uint32_t space) const noexcept { return stores_[space].grants_scratch; }
  bool stages_scratch(const consort_access &a, uint32_t space) const noexcept {  // the same of one access
    return (a.mode & CONSORT_M_SCRATCH) && a.datum->bytes && grants_scratch(space);
  }
  // The turn of a hold, an unregistration or a step must not fail: this makes its record, for up to so many data to bring.
  // The task has its Extra. False: no memory.
  static bool reserve(Task *, size_t data) noexcept;
  // Data of a popped task, into f.views. OK: all there, and pinned. AGAIN: on their way; the task comes by the worker's
  // mailbox. < 0: it can not be; told, with `blamed`.
  consort_status stage(ThreadState &, Worker &, Frame &, Task *, Datum **blamed) noexcept;
  Outcome stage_home(Task *) noexcept;
  // A step between a whole and its parts (partition_coherence.cpp). As stage_home(); then what has become of their replicas,
  // and who could not be brought (told, poisoned).
  using Turn = PartitionTurn;
  Outcome stage_step(Task *, const PartitionPlan &, Turn) noexcept;
  void settle_step(Task *, const PartitionPlan &, Turn) noexcept;
  void parts_have_no_place(const PartitionPlan &) noexcept;         // their whole has no memory at home
  void end(ThreadState &, Task *) noexcept;                       // of a task that was staged
  // Of one that its device was lost under: it ends as if it had not begun. False: it cannot, what it changed is gone.
  bool undo(ThreadState &, Task *) noexcept;
  DatumExtra *forget(Datum &) noexcept;                    // it is removed: all replicas go; its record is the caller's
  // Its state and its view say that it is in memory which the application has in a space of a driver: there it is at
  // home until forget(). Nobody uses it yet.
  consort_status settle(Datum &, uint32_t space) noexcept;
  uint32_t home_of(const Datum &) noexcept;                // where the application's own memory of it is; NONE: nowhere
  void invalidate(Datum &) noexcept;                       // it has no contents any more
  bool valid_in(const Datum &, uint32_t space) const noexcept;  // [any] locks nothing

  void copied(ThreadState &, Transfer *, consort_status, const char *why) noexcept override;  // by a mover: one copy is over
  void lost(const Device &d) noexcept override;
  ThreadState *this_thread() noexcept override;
  Mover *mover(uint64_t token) const noexcept;
  bool step(ThreadState &) noexcept;                              // manual pump: all movers, once
  // Virtual time, the pump's: has anything happened since a step() that did nothing? No: it would do nothing again.
  // What happens there is that time passes, that a worker does something (which who pumps sees), or that it is stirred.
  bool stirred() const noexcept;
  // [any] By copies that come or go, and by a function's end, upon which a driver may do more within a poll that reports
  // nothing. release pairs with step(), which sees what came before.
  void stir() noexcept override { stirred_.store(true, std::memory_order_release); }
  uint64_t next_event() const noexcept;                    // virtual time: of all movers
  bool in_use() const noexcept { return !movers_.empty(); }  // else no datum is in several places
  bool busy() const noexcept { return under_way_.load(std::memory_order_acquire); }
  std::string describe(TaskName) noexcept;                 // what a staged task waits for; "": nothing

  std::string describe() noexcept;                         // what is used, and who waits for room

  using Count = SpaceStatistics;
  Count count(uint32_t space) noexcept;
  using Traffic = LinkStatistics;
  Traffic traffic(uint32_t from, uint32_t to) noexcept;

  // What a policy asks: [any], locks nothing. Of tasks that are not over.
  void transfer_ns(const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                   float *out) const noexcept;
  void lacking(const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
               uint64_t *out) const noexcept;
  consort_room room(uint32_t space) const noexcept;
  // Its hints: [any], locks nothing. `task` is not over; the datum may be gone.
  void prefetch(const Task &task, uint32_t space, int32_t priority) noexcept;
  void unneeded(consort_data_id, uint32_t space) noexcept;
  bool has_hints() const noexcept override { return hints_ && !hints_->empty(); }
  bool take_hints(ThreadState &) noexcept override;                        // a mover's; false: there are none

  // What the application wants (memory.h). A wish lives from wish() to its turn(), or longer; forget(): it was not
  // submitted.
  bool leads_to(uint32_t space) const noexcept;            // does any driver move bytes there?
  MemoryRequest *wish(const MemoryRequest &wanted, Datum &);                 // may throw
  void turn(MemoryRequest *) noexcept;                              // among the tasks that use its datum
  void forget(MemoryRequest *) noexcept;
  consort_status cancel(ThreadState &, uint64_t wish) noexcept;
  uint32_t state_in(const Datum &, uint32_t space) noexcept;  // CONSORT_IN_*

 private:
  using Spares = std::map<uint64_t, std::vector<DatumExtra::Block>>;  // freed, by size; none of them is empty
  struct Store {                                           // one space
    bool counted = false;
    bool grants_scratch = false;                           // counted from the start: it does not change under a task
    bool refuge = false;                                   // to save contents in: home, or where nobody computes
    // make_room() is at it: saves to and fro do not begin it again
    bool clearing = false;
    bool later = false;                                    // it found contents that may be saved once others have ended
    RelaxedValue<uint64_t> limit = UINT64_MAX, used, evictable;   // evictable: of those that may go
    uint64_t evictions = 0, saves = 0, saved_bytes = 0, needed_evictions = 0;
    Spares spare;                                          // counted in `used`
    RelaxedValue<uint64_t> spare_bytes;
    uint64_t pinned = 0;                                   // by tasks, holds and copies
    Replica *oldest = nullptr, *newest = nullptr;          // those that may go
    // The same in the order in which they should; kept from the first time on that room was short.
    EvictionQueue victims;
    bool tight = false;
    uint64_t replicas = 0;                                 // that there are, with or without memory
    uint64_t uses = 0, evictions_until_ranked = 0;
    uint32_t leaving = 0;                                  // copies under way from here to other spaces
    // Was the policy asked whom to evict for whoever lacks room now? How often it was; only the last answer counts.
    enum Asked : uint8_t { kNot, kToAsk, kBeingAsked, kAnswered } asked = kNot;
    uint64_t asks = 0, ask_bytes = 0;                      // ask_bytes: that are wanted
    uint64_t saving = 0;                                   // bytes of those that saves under way will let go
    StagingQueue waiting;                                  // in the order in which they came
    std::vector<MemoryRequest *> wished;                            // their turn has come; the most urgent first
  };
  using Lock = std::unique_lock<std::mutex>;

  Result<void> read_limits();
  void open_estimates();
  Replicas *replicas_of(Datum &);                          // may throw
  static Replicas *replicas_if_any(const Datum &) noexcept;
  // acquire: pairs with replicas_of() and record_of_part(). nullptr: it has no record.
  static const Placement *places_shown(const Datum &d) noexcept {
    return d.places.known.load(std::memory_order_acquire) ? &d.places : nullptr;
  }
  static coherence::Spaces valid_spaces(const Datum &) noexcept;  // as valid_in()
  static void fetch_early(const consort_task *const *, uint32_t nt) noexcept;
  static bool may_be_hinted(const Datum &) noexcept;
  void keep_records(const Task &) noexcept;
  void heed() noexcept;                                    // hints
  void heed_prefetch(const Hints::Hint &, Datum &, Replicas &);  // may throw
  struct Cost { float own, queued; };                      // ns, without those before it, and until they have gone
  Cost cost(uint32_t from, uint32_t to, uint64_t bytes) const noexcept;
  static bool has_contents(const Datum &) noexcept;
  Outcome stage_retired(Task *, Datum &) noexcept;            // stage_home(), of an unregistration
  Replica *replica_in(Replicas &, Datum &, uint32_t space);  // may throw
  uint64_t bytes_in(const Datum &, uint32_t space) const noexcept;
  void keep(Staging &) noexcept;
  Staging &stage_by_itself(Task *, uint32_t space) noexcept;  // what was reserved for it
  // Admits a request without a worker. kDone: granted, and its data are valid; kPending: resume_special() follows.
  Outcome sent(Staging &) noexcept;
  uint64_t held_by_its_thread(const Staging &) const noexcept;
  bool choose(Staging &);                                  // may throw; false: a datum can not be brought
  // false: it has to wait. Also true where it can not be (status)
  bool grant(Staging &) noexcept;
  enum class Short { kRefused, kTryAgain, kWait };
  Short short_of(Staging &, consort_status) noexcept;
  Short leave_windows(Staging &) noexcept;
  bool is_stuck(const Store &) const noexcept;             // nothing that is under way or in use will ever make room
  bool make_room(uint32_t space, uint64_t bytes, const Staging *for_whom) noexcept;
  void rank(Replica &) noexcept;
  void look_ahead(Store &) noexcept;
  Replica *next_victim(Store &) noexcept;
  // Shows those that may go, the first to go first, each once, until f(Replica &) says false. It may let them go.
  template <class F>
  void look_at_victims(Store &store, F f) noexcept {
    Replica *seen = nullptr;
    for (bool more = true; more;) {
      Replica *const r = next_victim(store);
      if (!r) break;
      store.victims.remove(*r);
      r->looked_at = true;
      r->next_looked_at = seen;
      seen = r;
      more = f(*r);
    }
    for (; seen; seen = seen->next_looked_at) {
      seen->looked_at = false;
      if (!seen->listed) continue;  // it has gone, or is in use
      rank(*seen);
      store.victims.add(*seen);
    }
  }
  bool ask_policy(Store &, uint64_t bytes) noexcept;
  static void next_asks_anew(Store &) noexcept;            // he has room now, or is refused
  void consult(const ThreadState &, Lock &) noexcept;             // lets the mutex go meanwhile
  void ask(Lock &, uint32_t space);                        // may throw
  void count_on(Transfer &, bool) noexcept;                // what it saves will go when it has ended, or not after all
  enum class Room { kMade, kFree };                        // where it is saved: others make room, or it is there
  bool save(Replica &, Room) noexcept;
  void save_ahead(uint32_t space) noexcept;
  consort_status allocate(Replica &) noexcept;
  void release(Replica &) noexcept;
  consort_status take(const Space &, uint64_t bytes, uint64_t align, consort_addr *) noexcept;
  static bool take_spare(Store &, const consort_space_desc &, uint64_t bytes, uint64_t align,
                         consort_addr *) noexcept;
  void give_back(const DatumExtra::Block &) noexcept;  // to its driver
  void drop_spare(Store &, Spares::iterator of_its_size) noexcept;
  void drop_spares_for(Store &, uint64_t bytes) noexcept;
  bool drop_spares(Store &) noexcept;
  enum class Sent { kYes, kLater, kNever };                // Later: there is no room on the way now
  bool is_source(const Replica &, uint32_t space) const noexcept;
  bool is_elsewhere(const Replica &, coherence::Spaces failed) const noexcept;
  Sent fetch(Replica &, Staging *, MemoryRequest *) noexcept;       // for one of them
  void fetch_wanted() noexcept;
  bool hop(Transfer &) noexcept;
  int64_t order_of(const Transfer &) const noexcept;       // of its copies, where they wait
  Mover *mover_of(const Transfer &t) const noexcept { return mover_of_[t.from->space * stores_.size() + t.to->space]; }
  void landed(Transfer *, consort_status) noexcept;        // one hop
  void finish(Transfer *, consort_status) noexcept;
  void awaits_one_less(Staging &) noexcept;
  // words(): the reason, a string. Without memory for it the status alone is told.
  template <class F>
  static void refuse(Staging &s, consort_status status, F words) noexcept {
    if (s.status < 0) return;
    s.status = status;
    try {
      s.text = words();
    } catch (const std::bad_alloc &) {
    }
  }
  void give_back_lent(std::vector<DatumExtra::Block> &) noexcept;
  static std::unique_ptr<Replica> scratch_in(Datum &, uint32_t space);  // may throw
  void give_back_scratch(Staging &) noexcept;
  void begin(Staging &) noexcept;                          // it runs now: what it writes is valid here alone
  void complete(Staging *) noexcept;                       // nothing keeps it any more
  void serve() noexcept;
  void hand_out(ThreadState &, Lock &) noexcept;                  // those that became complete, without the mutex
  MemoryRequest *keep(const MemoryRequest &, Datum &);                       // may throw
  void take_turn(MemoryRequest &) noexcept;
  void over(MemoryRequest &) noexcept;
  void enlist(MemoryRequest &);
  void pursue(uint32_t space) noexcept;
  bool free_room(Store &, uint64_t bytes) noexcept;
  void set_aside(Datum &) noexcept;
  void drop(Replica &) noexcept;                           // one that need not be saved
  void leave(Replica &) noexcept;
  // a writer's turn: no task that never heard of the record is left
  void nobody_else(Replicas &) noexcept;
  void write_through(Datum &) noexcept;
  // -- windows --
  static Replica &holder(Replica &) noexcept;              // whose memory it is: itself, unless it is a window
  static bool is_apart(const Replica &base) noexcept;      // each of its windows is valid, or not, by itself
  static bool follows(const Replica &) noexcept;           // a window that is valid when its base is
  bool is_only(const Replica &) const noexcept;            // to be saved before it goes
  static bool is_worthless(const Replica &) noexcept;
  uint64_t next_use(const Replica &) noexcept;             // NextUse::Next::place, its windows' too
  Replicas &record_of_part(Datum &, Replica &home);        // may throw
  bool open_windows(const PartitionPlan &, Replica &base);          // false: the filter has no place there; may throw
  static void spread(const Replica &base) noexcept;        // it became valid: so did those that follow
  void close_window(Replica &) noexcept;                   // its base forgets it otherwise
  void close_windows(Replica &base) noexcept;              // it loses its memory
  void close_windows(const PartitionPlan &) noexcept;
  void lose_place(const PartitionPlan &) noexcept;
  bool has_no_place(const Replica &) const noexcept;       // a part's, at home, without its whole's memory
  // -- steps --
  struct Needs {                                           // of a step: what has to be where, who has to stand still
    uint32_t space;
    std::vector<Staging::Item> &items;
    Replicas *flying = nullptr;                            // linked by next_flying
  };
  static void wait_until_landed(Staging &, Replicas *flying) noexcept;
  coherence::Spaces in_place(const Datum &part) const noexcept;
  coherence::Spaces common(const PartitionPlan &) const noexcept;
  uint64_t lacking(const PartitionPlan &, const Replica &base) const noexcept;
  void stand_still(Datum &, Needs &) const noexcept;
  void before_down(const PartitionPlan &, bool to_write, Needs &);  // may throw
  void before_up(const PartitionPlan &, bool gather, Needs &);      // may throw
  void before_end(const PartitionPlan &, Needs &) const noexcept;
  void take_back(Replicas &) noexcept;
  void shut(Datum &) noexcept;
  void unshut(Datum &, coherence::Spaces valid) noexcept;
  void settle(const PartitionPlan &, Turn) noexcept;
  void list(Replica &) noexcept;
  void unlist(Replica &) noexcept;
  void pin(Replica &) noexcept;
  void unpin(Replica &) noexcept;

  DataManagement &rt_;
  NextUse outlook_;
  uint32_t save_ahead_ = 0;                                // percent
  std::mutex mutex_;
  Routes routes_;
  std::vector<coherence::Spaces> reach_;                   // by space: what all units there use in place
  std::vector<RelaxedValue<uint64_t>> queued_;                    // by link: bytes of copies under way
  std::vector<Mover *> mover_to_;                          // by space: one that brings contents there
  std::unique_ptr<Hints> hints_;
  // a policy has asked for prefetches; relaxed: who sees it late keeps a record late
  std::atomic<bool> prefetching_{false};
  std::vector<Store> stores_;
  std::map<std::pair<const Plugin *, uint64_t>, std::unique_ptr<SharedLink>>
      buses_;  // by driver and number; movers know them
  std::vector<std::unique_ptr<Mover>> movers_;
  std::atomic<bool> stirred_{true};  // release in stir() pairs with the exchange in step(): what came before it is looked at
  uint64_t looked_at_ = UINT64_MAX;                        // the pump's: when step() last began
  std::vector<Mover *> mover_of_;                          // by link: src * spaces + dst; nullptr: no path
  StagingQueue complete_;                                  // to be handed out
  struct Want { Replica *replica; Staging *staging; };
  // contents whose way leads through a space that is full just now
  std::deque<Want> wanted_;
  Staging *stagings_ = nullptr;
  std::map<uint64_t, std::unique_ptr<MemoryRequest>> wishes_;       // all that are not over
  std::vector<Traffic> traffic_;                           // as mover_of_
  uint64_t last_wish_ = 0;
  uint64_t active_ = 0;                                    // stagings that have all they need, until they end
  // hops whose end was not told to everybody yet; release pairs with busy()
  std::atomic<uint32_t> under_way_{0};
  bool told_bad_victims_ = false;
  bool to_ask_ = false;                                    // some store is kToAsk: hand_out() follows
  uint32_t asking_ = 0;                                    // stores that are kToAsk or kBeingAsked: serve() follows
  uint64_t transfers_ = 0;                                 // copies under way: when they end, serve() looks again
};

}  // namespace consort
