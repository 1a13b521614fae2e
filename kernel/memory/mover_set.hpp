// mover_set.hpp — the movers of all devices: which of them carries which link, and how they are stepped.
//
// Made at the start, one mover for each device whose links move bytes; after that the set does not change, so any thread
// may ask it. Each mover has its own mutex, below Memory's.
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
  void stop_threads() noexcept;  // and joins; nothing is on its way
  void close() noexcept { movers_.clear(); }

  bool any() const noexcept { return !movers_.empty(); }
  Mover *on(uint32_t from, uint32_t to) const noexcept { return on_[from * spaces_ + to]; }  // nullptr: no driver moves bytes
  Mover *leading_to(uint32_t space) const noexcept { return to_[space]; }     // one that brings contents there, or nullptr
  Mover *of_token(uint64_t token) const noexcept;                             // nullptr: the queue is no mover's
  bool has(uint32_t space) const noexcept { return space < spaces_ && to_[space]; }  // one leads there
  size_t spaces() const noexcept { return spaces_; }
  const Routes &routes() const noexcept { return routes_; }

  // The manual pump: all movers, once. True: something was done.
  bool step(ThreadState &) noexcept;
  // Virtual time, the pump's: has anything happened since a step() that did nothing? No: it would do nothing again.
  bool stirred(bool has_hints) const noexcept;
  // [any] By copies that come or go, and by a function's end. release pairs with step(), which sees what came before.
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
  uint64_t looked_at_ = UINT64_MAX;               // the pump's: when step() last began
};

}  // namespace consort
