#include "memory/eviction_policy.hpp"

#include <algorithm>
#include <utility>

#include "memory/window.hpp"
#include "sched/policy.hpp"

namespace consort {
namespace {

// Returns what is wrong with an answer that names answer[0..n) of `shown` replicas. place: from 1; 0: not named.
std::string check(const std::vector<uint32_t> &answer, uint32_t n, std::vector<uint64_t> &place) {
  const auto shown = static_cast<uint32_t>(place.size());
  if (n > shown) return "names " + std::to_string(n) + " of " + std::to_string(shown) + " replicas";
  for (uint32_t i = 0; i < n; ++i) {
    if (answer[i] >= shown) return "names replica " + std::to_string(answer[i]) + " of " + std::to_string(shown);
    if (std::exchange(place[answer[i]], i + 1)) return "names replica " + std::to_string(answer[i]) + " twice";
  }
  return {};
}

}  // namespace

Outcome EvictionPolicy::ask(uint32_t space, uint64_t bytes) noexcept {
  Store &store = stores_[space];
  if (store.asked == Asked::kAnswered || !policy_.chooses_victims() || !order_.oldest(space)) return Outcome::kDone;
  if (store.asked == Asked::kNot) {
    store.asked = Asked::kToAsk;
    store.bytes = bytes;
    to_ask_ = true;
    ++asking_;
  }
  return Outcome::kPending;
}

void EvictionPolicy::next_asks_anew(uint32_t space) noexcept {
  if (stores_[space].asked == Asked::kAnswered) stores_[space].asked = Asked::kNot;
}

bool EvictionPolicy::take_questions() noexcept { return std::exchange(to_ask_, false); }

bool EvictionPolicy::consult(MemoryLock &lock, uint32_t space, const Staging *first, uint64_t saving, bool may_call,
                             std::string *bad) noexcept {
  Store &store = stores_[space];
  if (store.asked != Asked::kToAsk) return false;
  store.asked = Asked::kBeingAsked;
  try {
    if (may_call) put(lock, space, first, saving, bad);
  } catch (const std::bad_alloc &) {  // then the kernel chooses
  }
  if (!lock.owns_lock()) lock.lock();
  store.asked = Asked::kAnswered;
  --asking_;
  return true;
}

// Replicas that may go and that the request does not need, in the order of eviction: as many as a policy is shown.
std::vector<EvictionPolicy::Candidate> EvictionPolicy::candidates(uint32_t space, const Staging *first) const {
  constexpr size_t kMost = 256;
  static_assert(kMost < 1u << Replica::kPlaceBits);
  const auto needed = [&](const Replica &r) {
    const auto is = [&](const auto &item) { return item.replica && &holder(*item.replica) == &r; };
    return first && std::any_of(first->items.begin(), first->items.end(), is);
  };
  std::vector<Candidate> shown;
  for (const Replica *r = order_.oldest(space); r; r = r->newer) {
    if (r->coming || needed(*r)) continue;
    const uint32_t flags = (order_.must_be_saved(*r) ? uint32_t{CONSORT_RP_DIRTY} : 0) |
                           (r->prefetched ? uint32_t{CONSORT_RP_PREFETCHED} : 0);
    shown.push_back({r->rank, r->age, {r->datum->pub.id, r->bytes, r->last_use_ns, space, flags}});
  }
  const auto goes_before = [](const Candidate &a, const Candidate &b) {
    return a.rank != b.rank ? a.rank < b.rank : a.age < b.age;
  };
  const size_t most = std::min(shown.size(), kMost);
  std::partial_sort(shown.begin(), shown.begin() + static_cast<ptrdiff_t>(most), shown.end(), goes_before);
  shown.resize(most);
  return shown;
}

void EvictionPolicy::put(MemoryLock &lock, uint32_t space, const Staging *first, uint64_t saving, std::string *bad) {
  const uint64_t wanted = cache_.taken(space) + stores_[space].bytes, limit = cache_.limit(space);
  if (wanted <= limit || wanted - limit <= saving) return;
  order_.begin_choice(space);
  const std::vector<Candidate> shown = candidates(space, first);
  if (shown.empty()) return;
  std::vector<consort_replica> list;
  for (const Candidate &one : shown) list.push_back(one.replica);
  const auto n = static_cast<uint32_t>(shown.size());
  std::vector<uint32_t> answer(n);
  std::vector<uint64_t> place(n);

  lock.unlock();
  const std::string *policy_name = nullptr;
  const uint32_t named = policy_.victim(space, wanted - limit - saving, list.data(), n, answer.data(), &policy_name);
  const std::string wrong = check(answer, named, place);
  lock.lock();
  if (wrong.empty()) return prefer(space, shown, place);
  if (!std::exchange(told_bad_, true))
    *bad = "scheduler '" + *policy_name + "' " + wrong + " as victims: its answer is left aside, and the kernel chooses";
}

// Ranks the chosen replicas by the answer. A replica used meanwhile has another age and is skipped.
void EvictionPolicy::prefer(uint32_t space, const std::vector<Candidate> &shown, const std::vector<uint64_t> &place) {
  std::vector<std::pair<uint64_t, uint64_t>> chosen;  // age, place
  for (size_t i = 0; i < shown.size(); ++i)
    if (place[i]) chosen.emplace_back(shown[i].age, place[i]);
  std::sort(chosen.begin(), chosen.end());
  for (Replica *r = chosen.empty() ? nullptr : order_.oldest(space); r; r = r->newer) {
    const auto found = std::lower_bound(chosen.begin(), chosen.end(), std::pair<uint64_t, uint64_t>{r->age, 0});
    if (found != chosen.end() && found->first == r->age) order_.choose(*r, found->second);
  }
}

}  // namespace consort
