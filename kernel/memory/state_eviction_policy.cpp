// eviction_policy.cpp — Memory, the part that asks a policy which replicas are to go, where that has an opinion.
//
// A policy is called without the mutex, so what it was shown may have changed when it answers: a choice is a preference
// in the order of victims (rank()), lost by whatever was used meanwhile, and never a decision. While it is asked, those
// who lack room in that space wait; all others go on. Each who lacks room asks once, so there is an end to it whatever
// the answer is.
#include <algorithm>
#include <utility>

#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

// Of a task's request that lacks room. True: it has to wait for the policy's answer; hand_out() comes, and asks.
bool MemoryState::ask_policy(Store &store, uint64_t bytes) noexcept {
  if (store.asked == Store::kAnswered || !rt_.policy.chooses_victims() || !store.oldest) return false;
  if (store.asked == Store::kNot) {
    store.asked = Store::kToAsk;
    store.ask_bytes = bytes;
    to_ask_ = true;
    ++asking_;
  }
  return true;
}

void MemoryState::next_asks_anew(Store &store) noexcept {
  if (store.asked == Store::kAnswered) store.asked = Store::kNot;
}

void MemoryState::consult(const ThreadState &thread, Lock &lock) noexcept {
  while (std::exchange(to_ask_, false))  // serve() may find others who want to ask
    for (uint32_t s = 0; s < stores_.size(); ++s) {
      Store &store = stores_[s];
      if (store.asked != Store::kToAsk) continue;
      store.asked = Store::kBeingAsked;
      try {
        if (!thread.asking) ask(lock, s);  // else it may be the policy, under its locks, that this thread comes from
      } catch (const std::bad_alloc &) {  // then the kernel chooses
      }
      if (!lock.owns_lock()) lock.lock();
      store.asked = Store::kAnswered;
      --asking_;
      serve();
    }
}

void MemoryState::ask(Lock &lock, uint32_t space) {
  constexpr size_t kMost = 256;
  static_assert(kMost < 1u << Replica::kPlaceBits);
  Store &store = stores_[space];
  const uint64_t wanted = store.used - store.spare_bytes + store.ask_bytes;
  if (wanted <= store.limit || wanted - store.limit <= store.saving) return;
  const uint64_t lacking = wanted - store.limit - store.saving;

  ++store.asks;
  store.evictions_until_ranked = 0;  // the ranks of all are those of now
  look_ahead(store);
  const Staging *const first = store.waiting.empty() ? nullptr : store.waiting.front();
  const auto needed = [&](const Replica &r) {  // by him who asks
    const auto is = [&](const auto &item) { return item.replica && &holder(*item.replica) == &r; };
    return first && std::any_of(first->items.begin(), first->items.end(), is);
  };
  struct RelaxedValue {
    uint64_t rank, age;  // age: of this stay among those that may go, and of no other
    consort_replica replica;
  };
  std::vector<RelaxedValue> shown;
  for (const Replica *r = store.oldest; r; r = r->newer) {
    if (r->coming || needed(*r)) continue;
    const uint32_t flags =
        (is_only(*r) ? uint32_t{CONSORT_RP_DIRTY} : 0) | (r->prefetched ? uint32_t{CONSORT_RP_PREFETCHED} : 0);
    shown.push_back({r->rank, r->age, {r->datum->pub.id, r->bytes, r->last_use_ns, space, flags}});
  }
  const auto goes_before = [](const RelaxedValue &a, const RelaxedValue &b) {
    return a.rank != b.rank ? a.rank < b.rank : a.age < b.age;
  };
  const size_t most = std::min(shown.size(), kMost);
  std::partial_sort(shown.begin(), shown.begin() + static_cast<ptrdiff_t>(most), shown.end(), goes_before);
  shown.resize(most);
  if (shown.empty()) return;
  const auto n = static_cast<uint32_t>(most);
  std::vector<consort_replica> list;
  for (const RelaxedValue &one : shown) list.push_back(one.replica);
  std::vector<uint32_t> order(n);
  std::vector<uint64_t> place(n);  // from 1; 0: not named

  lock.unlock();
  const std::string *who = nullptr;
  const uint32_t answer = rt_.policy.victim(space, lacking, list.data(), n, order.data(), &who);
  std::string bad;
  if (answer > n) bad = "names " + std::to_string(answer) + " of " + std::to_string(n) + " replicas";
  for (uint32_t i = 0; bad.empty() && i < answer; ++i) {
    if (order[i] >= n)
      bad = "names replica " + std::to_string(order[i]) + " of " + std::to_string(n);
    else if (std::exchange(place[order[i]], i + 1))
      bad = "names replica " + std::to_string(order[i]) + " twice";
  }
  lock.lock();
  if (!bad.empty()) {
    if (!std::exchange(told_bad_victims_, true)) {
      lock.unlock();
      rt_.log(kLogError, "scheduler '" + *who + "' " + bad +
                             " as victims: its answer is left aside, and the kernel chooses");
    }
    return;
  }
  std::vector<std::pair<uint64_t, uint64_t>> chosen;
  for (uint32_t i = 0; i < n; ++i)
    if (place[i]) chosen.emplace_back(shown[i].age, place[i]);
  std::sort(chosen.begin(), chosen.end());
  for (Replica *r = chosen.empty() ? nullptr : store.oldest; r; r = r->newer) {
    const auto found = std::lower_bound(chosen.begin(), chosen.end(), std::pair<uint64_t, uint64_t>{r->age, 0});
    if (found == chosen.end() || found->first != r->age) continue;
    r->chosen = store.asks << Replica::kPlaceBits | found->second;
    rank(*r);
    store.victims.moved(*r);
  }
}

}  // namespace consort
