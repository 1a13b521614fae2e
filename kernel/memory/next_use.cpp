#include "memory/next_use.hpp"

#include <algorithm>
#include <iterator>

#include "task/data.hpp"

namespace consort {

void NextUse::note(const Task &t) noexcept try {
  std::lock_guard lock(mutex_);
  if (noted_.size() + t.pub.naccess > sweep_at_) {
    std::erase_if(noted_, [&](const Use &u) { return is_over(u); });
    sweep_at_ = std::max(kFew, 2 * (noted_.size() + t.pub.naccess));
  }
  const uint64_t place = ++places_;
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const consort_access &a = t.pub.access[i];
    if (!(a.mode & CONSORT_M_RW) || (a.mode & (CONSORT_M_SCRATCH | CONSORT_M_REDUX))) continue;
    noted_.push_back({place, t.pub.id, Datum::of(a.datum), a.mode});
  }
} catch (const std::bad_alloc &) {
}

void NextUse::refresh() noexcept try {
  {
    std::lock_guard lock(mutex_);
    if (noted_.empty()) return;
    taken_.swap(noted_);
  }
  if (ahead_uses_ + taken_.size() > ahead_sweep_at_) {
    ahead_uses_ = 0;
    for (auto it = ahead_.begin(); it != ahead_.end();) {
      std::erase_if(it->second.all, [&](const Use &u) { return is_over(u); });
      it->second.first = 0;
      ahead_uses_ += it->second.all.size();
      it = it->second.all.empty() ? ahead_.erase(it) : std::next(it);
    }
    ahead_sweep_at_ = std::max(kFew, 2 * (ahead_uses_ + taken_.size()));
  }
  for (const Use &u : taken_) {
    if (is_over(u)) continue;
    ahead_[u.datum].all.push_back(u);
    ++ahead_uses_;
  }
  taken_.clear();
} catch (const std::bad_alloc &) {
  taken_.clear();
}

void NextUse::used(const Datum &d, TaskName task) noexcept {
  constexpr size_t kFar = 64;  // future uses examined; later ones are dropped when they end
  const auto found = ahead_.find(&d);
  if (found == ahead_.end()) return;
  Uses &uses = found->second;
  for (size_t i = uses.first; i < std::min(uses.all.size(), uses.first + kFar); ++i)
    if (uses.all[i].task == task) uses.all[i].task = 0;
}

void NextUse::forget(const Datum &d) noexcept {
  const auto found = ahead_.find(&d);
  if (found == ahead_.end()) return;
  ahead_uses_ -= found->second.all.size();
  ahead_.erase(found);
}

NextUse::Next NextUse::next(const Datum &d) noexcept {
  const auto found = ahead_.find(&d);
  if (found == ahead_.end()) return {};
  Uses &uses = found->second;
  while (uses.first < uses.all.size() && is_over(uses.all[uses.first])) ++uses.first;
  if (uses.first == uses.all.size()) {
    ahead_uses_ -= uses.all.size();
    ahead_.erase(found);
    return {};
  }
  const Use &u = uses.all[uses.first];
  return {u.mode & CONSORT_M_R ? u.place : kNever, (u.mode & CONSORT_M_W) != 0};
}

}  // namespace consort
