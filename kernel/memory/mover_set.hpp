// mover_set.hpp — the movers of all devices: the mover of each link, and their stepping.
//
// Made at the start, one mover for each device whose links copy bytes. Constant afterwards, so any thread may read it.
// Each mover has a mutex of its own, below Memory's.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "machine/route.hpp"
#include "memory/mover.hpp"

namespace consort {

struct Plugin;

class MoverSet {
 public:
  MoverSet(const MoverSettings &, MoverOwner &);
  ~MoverSet();
  Result<void> open();
  Result<void> start_threads();
  void stop_threads() noexcept;  // joins them; precondition: no copy is in flight
  void close() noexcept { movers_.clear(); }

  bool any() const noexcept { return !movers_.empty(); }
  // nullptr: no driver copies bytes there
  Mover *on(uint32_t from, uint32_t to) const noexcept { return on_[from * spaces_ + to]; }
  Mover *leading_to(uint32_t space) const noexcept { return to_[space]; }  // a mover that brings contents there, or nullptr
  Mover *of_token(uint64_t token) const noexcept;                             // nullptr: the queue is no mover's
  bool has(uint32_t space) const noexcept { return space < spaces_ && to_[space]; }  // a mover leads there
  size_t spaces() const noexcept { return spaces_; }
  const Routes &routes() const noexcept { return routes_; }

  // Manual pump: steps all movers once. Returns whether something was done.
  bool step(ThreadState &) noexcept;
  // Virtual time, called by the pump: returns whether something may have changed since a step() that did nothing.
  bool stirred(bool has_hints) const noexcept;
  // [any] Called for copies that start or end, and when a function ends. release pairs with step(), which sees earlier
  // stores.
  void stir() noexcept { stirred_.store(true, std::memory_order_release); }
  uint64_t next_event() const noexcept;  // virtual time: of all movers

 private:
  Result<Mover *> mover_of(const Device &);

  const MoverSettings settings_;
  MoverOwner &owner_;
  const size_t spaces_;
  Routes routes_;
  std::map<std::pair<const Plugin *, uint64_t>, std::unique_ptr<SharedLink>> shared_;  // by driver and number
  std::vector<std::unique_ptr<Mover>> movers_;
  std::vector<Mover *> on_, to_;                  // by link: src * spaces + dst; by space
  std::atomic<bool> stirred_{true};               // release in stir() pairs with the exchange in step()
  uint64_t looked_at_ = UINT64_MAX;               // used by the pump: start of the last step()
};

}  // namespace consort
