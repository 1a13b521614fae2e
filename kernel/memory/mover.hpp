// mover.hpp — carries out copies on a device's links: one queue, pumped by one thread of its own.
//
// Anybody hands copies over; only the mover's pump touches the driver's queue. It sleeps until there is something to
// submit or the device has news (as Queue::rest). With the manual pump nobody has a thread: whoever pumps calls step().
#pragma once
#include <consort/driver.h>

#include <deque>
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

// What a mover tells and asks, without Memory's mutex.
class MoverOwner {
 public:
  virtual void copied(ThreadState &, Transfer *, consort_status, const char *why) noexcept = 0;  // one copy is over
  virtual void stir() noexcept = 0;                         // virtual time: a step of the movers may do something now
  virtual bool has_hints() const noexcept = 0;
  virtual bool take_hints(ThreadState &) noexcept = 0;      // false: there are none
  virtual void lost(const Device &) noexcept = 0;           // a copy's status said so
  virtual ThreadState *this_thread() noexcept = 0;          // of a mover's thread; nullptr: no memory

 protected:
  ~MoverOwner() = default;
};

struct MoverSettings {
  const Topology &topology;
  const Clock &clock;
  bool virtual_time;
  uint32_t spin_rounds;  // before it sleeps
};

class Mover final : public LinkTransfer {
 public:
  static constexpr uint64_t kFirstToken = uint64_t{1} << 32;  // of the first mover; other queues have smaller ones

  static Result<std::unique_ptr<Mover>> open(const MoverSettings &, MoverOwner &, const Device &, uint64_t token);
  ~Mover();
  Result<void> start_thread();
  void stop() noexcept;                                       // and joins
  void share(uint32_t from, uint32_t to, SharedLink &);              // [control] this link goes over it. May throw

  // The copies of a transfer; when each is over MoverOwner::copied() hears of it. `wished`: priority of one that nobody
  // waits for; it goes when nobody waits for anything. `order`: others' of less go first. False: no memory.
  bool add(Transfer *, const consort_copy *, uint32_t n, const int32_t *wished, int64_t order) noexcept;
  void hurry(Transfer *, int64_t order) noexcept;             // somebody waits for it now, or somebody more urgent
  bool take_back(Transfer *) noexcept;                        // true: no copy of it was begun, and none will be
  void nudge() noexcept override;                             // [any] hints came, or copies
  bool step(ThreadState &) noexcept;                                 // the pump's: false: nothing to do now
  // The pump's: the last step left nothing that the device has not accepted, and changed nothing for those who wait for
  // the same buses. So if it did nothing either, nor the others, the next would do nothing.
  bool settled() const noexcept { return !nbatch_ && awaited_ == before_; }
  void completed(const consort_done *, uint32_t n) noexcept;  // [any] pushed by the driver
  uint64_t next_event() const noexcept {  // virtual time: before that step() has nothing to do
    return ops_->next_event ? ops_->next_event(q_) : CONSORT_NEVER;
  }
  uint64_t token() const noexcept { return token_; }
  const Device &device() const noexcept { return device_; }

 private:
  struct Op {
    Transfer *transfer;
    int64_t order;                                            // what waits goes by it, the least first
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
  std::vector<LinkCredit> flows_;                                   // the pump's, by link
  uint64_t flying_ = 0;                                       // bytes sent over any of them
  LinkCredit *last_ = nullptr;                                      // that something was sent over, or came
  LinkCredit &flow(const consort_copy &) noexcept;
  using Waiting = std::deque<Op *>::iterator;
  static Waiting place(Waiting first, Waiting last, int64_t order) noexcept;
  void enlist(Op *);                                          // in its order; under the lock. May throw
  bool choose(Op *, bool wished) noexcept;                    // for the batch; false: not now
  SharedLink *&bus(const consort_copy &) noexcept;
  std::vector<SharedLink *> buses_;                                  // by link; nullptr: it shares none
  struct Turn {                                               // that it waits for at a bus
    SharedLink *bus;
    int64_t order;
    bool operator==(const Turn &) const = default;
  };
  static bool has(const std::vector<Turn> &, const SharedLink *) noexcept;
  std::vector<Turn> awaited_, before_;                        // the pump's: of this step, and of the one before
  bool may_enter() const noexcept;                            // one of those
  void choose_all() noexcept;
  static constexpr uint32_t kBatch = 16;
  Op *batch_[kBatch];                                         // the pump's: to be submitted next, nbatch_ of them
  uint32_t nbatch_ = 0;
  std::thread thread_;
  Parker parker_;
  std::atomic<bool> asleep_{false}, stopping_{false};  // see rest() and nudge(); release in stop(), acquire in run()
  std::mutex mutex_;                                          // guards the three; inside it a bus's
  std::deque<Op *> waiting_;                                  // not yet accepted, by order
  std::multimap<int32_t, Op *, std::greater<>> wished_;       // the same, of wishes
  std::vector<consort_done> pushed_;
};

}  // namespace consort
