// eviction_policy.hpp — asks the scheduler policy which replicas to evict, if it implements that hook.
//
// The policy is called without the mutex, so replicas may have changed when it answers. Its choice is a preference in
// the order of eviction, lost by each replica that was used meanwhile. While it is asked, tasks that lack memory in
// that space wait; all others continue. Each request for memory asks once, so this ends whatever the answer is. Owned
// by Memory; each function is called under Memory's mutex.
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

  // For a request that lacks `bytes`. kPending: it waits for the answer; has_questions() is true, and consult()
  // follows. kDone: the policy has answered, or has no such hook.
  Outcome ask(uint32_t space, uint64_t bytes) noexcept;
  // The request was granted or refused; the next one asks again.
  void next_asks_anew(uint32_t space) noexcept;
  bool is_asking(uint32_t space) const noexcept {
    return stores_[space].asked == Asked::kToAsk || stores_[space].asked == Asked::kBeingAsked;
  }
  uint32_t asking() const noexcept { return asking_; }  // spaces with an unanswered question
  // Returns once whether there are questions; the caller then calls consult() for each space.
  bool take_questions() noexcept;
  bool has_questions() const noexcept { return to_ask_; }
  // Asks the policy about that space, if there is a question; releases the mutex meanwhile. `first`: the request, or
  // nullptr. `saving`: bytes that will be freed anyway. may_call: false if the policy may be the caller. True:
  // answered, so requests of that space can continue. *bad: what is wrong with an invalid answer, to be logged once
  // without the mutex; else empty.
  bool consult(MemoryLock &, uint32_t space, const Staging *first, uint64_t saving, bool may_call,
               std::string *bad) noexcept;

 private:
  enum class Asked : uint8_t { kNot, kToAsk, kBeingAsked, kAnswered };
  struct Store {
    Asked asked = Asked::kNot;  // only the last answer counts
    uint64_t bytes = 0;         // bytes requested
  };
  struct Candidate {
    uint64_t rank, age;         // age: identifies this period as a candidate
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
