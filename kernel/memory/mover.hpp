// mover.hpp — executes copies on a device's links: one queue of the driver, pumped by a thread of its own.
//
// Any thread adds copies; only the mover's pump uses the driver's queue. It sleeps until there is a copy to submit or
// the device has news (as Queue::rest). With the manual pump there are no threads: the pumping thread calls step().
#pragma once
#include <consort/driver.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/park.hpp"
#include "base/result.hpp"
#include "machine/link_credit.hpp"
#include "machine/shared_link.hpp"

namespace consort {

class Clock;
class Topology;
struct Device;
struct ThreadState;
struct Transfer;

// Callbacks of a mover, called without Memory's mutex.
class MoverOwner {
 public:
  virtual void copied(ThreadState &, Transfer *, consort_status, const char *why) noexcept = 0;  // one copy has ended
  virtual void stir() noexcept = 0;                         // virtual time: movers may have work now
  virtual bool has_hints() const noexcept = 0;
  virtual bool take_hints(ThreadState &) noexcept = 0;      // false: there are none
  virtual void lost(const Device &) noexcept = 0;           // a copy's status reports a lost device
  virtual ThreadState *this_thread() noexcept = 0;          // the state of a mover's thread; nullptr: no memory

 protected:
  ~MoverOwner() = default;
};

struct MoverSettings {
  const Topology &topology;
  const Clock &clock;
  bool virtual_time;
  uint32_t spin_rounds;  // rounds before it sleeps
};

class Mover final : public LinkTransfer {
 public:
  static constexpr uint64_t kFirstToken = uint64_t{1} << 32;  // of the first mover; other queues have smaller tokens

  static Result<std::unique_ptr<Mover>> open(const MoverSettings &, MoverOwner &, const Device &, uint64_t token);
  ~Mover();
  Result<void> start_thread();
  void stop() noexcept;                                       // stops the thread and joins it
  void share(uint32_t from, uint32_t to, SharedLink &);  // [control] copies over this link use the shared link. May throw

  // Adds the copies of a transfer; MoverOwner::copied() reports the end of each. `wished`: priority of a prefetch,
  // which is sent only when no other copy waits. `order`: smaller orders go first. Returns false if out of memory.
  bool add(Transfer *, const consort_copy *, uint32_t n, const int32_t *wished, int64_t order) noexcept;
  void hurry(Transfer *, int64_t order) noexcept;             // a task waits for it now, or a more urgent one does
  bool take_back(Transfer *) noexcept;                        // true: none of its copies was started, and none will be
  void nudge() noexcept override;                             // [any] hints or copies have arrived
  bool step(ThreadState &) noexcept;                                 // called by the pump; false: nothing to do now
  // Called by the pump: the last step left nothing that the device has not accepted, and changed nothing for waiters of
  // the same shared links. If it and the other movers did nothing, another step would do nothing.
  bool settled() const noexcept { return !nbatch_ && awaited_ == before_; }
  void completed(const consort_done *, uint32_t n) noexcept;  // [any] pushed by the driver
  uint64_t next_event() const noexcept {  // virtual time: step() has nothing to do before it
    return ops_->next_event ? ops_->next_event(q_) : CONSORT_NEVER;
  }
  uint64_t token() const noexcept { return token_; }
  const Device &device() const noexcept { return device_; }

 private:
  struct Op {
    Transfer *transfer;
    int64_t order;                                            // key of the waiting queue, ascending
    consort_op op;
  };
  Mover(const MoverSettings &settings, MoverOwner &owner, const Device &device, uint64_t token);
  void run();
  void rest() noexcept;
  void finish(ThreadState &, const consort_done &, const char *why) noexcept;
  bool finish_polled(ThreadState &) noexcept;
  bool finish_pushed(ThreadState &) noexcept;
  bool submit_chosen() noexcept;

  const MoverSettings settings_;
  const size_t spaces_;
  MoverOwner &owner_;
  const Device &device_;
  const uint64_t token_;
  const consort_driver_ops *ops_ = nullptr;
  void *q_ = nullptr;
  int fd_ = -1;
  uint32_t depth_ = 1, inflight_ = 0;
  std::vector<LinkCredit> flows_;                                   // used by the pump, by link
  uint64_t flying_ = 0;                                       // bytes in flight over all links
  LinkCredit *last_ = nullptr;                                      // link of the latest send or arrival
  LinkCredit &flow(const consort_copy &) noexcept;
  using Waiting = std::deque<Op *>::iterator;
  static Waiting place(Waiting first, Waiting last, int64_t order) noexcept;
  void enlist(Op *);                                          // inserts by order; precondition: the lock is held. May throw
  bool choose(Op *, bool wished) noexcept;                    // adds it to the batch; false: not now
  SharedLink *&bus(const consort_copy &) noexcept;
  std::vector<SharedLink *> buses_;                                  // by link; nullptr: not shared
  struct Turn {                                               // an entry in a shared link's queue
    SharedLink *bus;
    int64_t order;
    bool operator==(const Turn &) const = default;
  };
  static bool has(const std::vector<Turn> &, const SharedLink *) noexcept;
  std::vector<Turn> awaited_, before_;                        // used by the pump: of this step, and of the one before
  bool may_enter() const noexcept;                            // whether one of them may enter
  void choose_all() noexcept;
  static constexpr uint32_t kBatch = 16;
  Op *batch_[kBatch];                                         // used by the pump: nbatch_ copies to submit next
  uint32_t nbatch_ = 0;
  std::thread thread_;
  Parker parker_;
  std::atomic<bool> asleep_{false}, stopping_{false};  // see rest() and nudge(); release in stop(), acquire in run()
  std::mutex mutex_;                                          // guards the three below; outside a shared link's mutex
  std::deque<Op *> waiting_;                                  // not accepted yet, by order
  std::multimap<int32_t, Op *, std::greater<>> wished_;       // likewise, prefetches
  std::vector<consort_done> pushed_;
};

}  // namespace consort
