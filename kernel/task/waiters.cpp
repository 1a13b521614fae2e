#include "task/waiters.hpp"

namespace consort {

void Waiters::wake(const Group *idle) noexcept {
  if (!any()) return;
  std::lock_guard lock(mutex_);
  for (Waiter *w = first_; w; w = w->next_)
    if (!w->only_ || w->only_ == idle) w->parker_.wake();
}

Waiter::Waiter(Waiters &all, Parker &p, const Group *only) noexcept : all_(all), parker_(p), only_(only) {
  std::lock_guard lock(all_.mutex_);
  next_ = all_.first_;
  if (next_) next_->before_ = this;
  all_.first_ = this;
  all_.n_.fetch_add(1, std::memory_order_seq_cst);
}

Waiter::~Waiter() {
  std::lock_guard lock(all_.mutex_);
  if (next_) next_->before_ = before_;
  (before_ ? before_->next_ : all_.first_) = next_;
  all_.n_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace consort
