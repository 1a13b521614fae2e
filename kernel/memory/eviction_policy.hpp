// eviction_policy.hpp — asks the scheduler's policy which replicas are to go, where that has an opinion.
//
// A policy is called without the mutex, so what it was shown may have changed when it answers: a choice is a preference
// in the order of eviction, lost by whatever was used meanwhile, and never a decision. While it is asked, tasks that lack
// room in that space wait; all others go on. Each request for room asks once, so there is an end to it whatever the
// answer is. Owned by Memory; each function is called under Memory's mutex.
#pragma once
#include <string>
#include <vector>

#include "memory/block_cache.hpp"
#include "memory/eviction_order.hpp"
#include "memory/memory_lock.hpp"
#include "graph/outcome.hpp"
#include "memory/staging.hpp"

namespace consort {

class EvictionPolicy {
 public:
  EvictionPolicy(Policy &policy, BlockCache &cache, EvictionOrder &order, size_t spaces)
      : policy_(policy), cache_(cache), order_(order), stores_(spaces) {}

  // Of a task's request that lacks room for so many bytes. kPending: it waits for the answer; has_questions() says so, and
  // consult() follows. kDone: the policy has answered, or has no opinion.
  Outcome ask(uint32_t space, uint64_t bytes) noexcept;
  // The request has its room, or is refused: the next one asks anew.
  void next_asks_anew(uint32_t space) noexcept;
  bool is_asking(uint32_t space) const noexcept {
    return stores_[space].asked == Asked::kToAsk || stores_[space].asked == Asked::kBeingAsked;
  }
  uint32_t asking() const noexcept { return asking_; }  // spaces whose question is not answered
  // Is there a question to be put? Once: consult() of each space follows.
  bool take_questions() noexcept;
  bool has_questions() const noexcept { return to_ask_; }
  // Puts the question of that space, if there is one: lets the mutex go meanwhile. `first`: the request, or nullptr.
  // `saving`: bytes that go without it. may_call: false where the policy may be what called. True: answered, so requests
  // of that space may go on. *bad: an answer that made no sense, to be told once, without the mutex; else empty.
  bool consult(MemoryLock &, uint32_t space, const Staging *first, uint64_t saving, bool may_call,
               std::string *bad) noexcept;

 private:
  enum class Asked : uint8_t { kNot, kToAsk, kBeingAsked, kAnswered };
  struct Store {
    Asked asked = Asked::kNot;  // only the last answer counts
    uint64_t bytes = 0;         // that are wanted
  };
  struct Candidate {
    uint64_t rank, age;         // age: of this stay among those that may go, and of no other
    consort_replica replica;
  };
  void put(MemoryLock &, uint32_t space, const Staging *first, uint64_t saving, std::string *bad);
  std::vector<Candidate> candidates(uint32_t space, const Staging *first) const;
  void prefer(uint32_t space, const std::vector<Candidate> &, const std::vector<uint64_t> &place);

  Policy &policy_;
  BlockCache &cache_;
  EvictionOrder &order_;
  std::vector<Store> stores_;
  bool to_ask_ = false;
  uint32_t asking_ = 0;
  bool told_bad_ = false;
};

}  // namespace consort
