#include "exec/submitter_turns.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace consort {

uint32_t SubmitterTurns::number_of(const ThreadState &t) const noexcept {
  for (uint32_t i = 0; i < all_.size(); ++i)
    if (all_[i].thread == &t) return i;
  return kNone;
}

uint32_t SubmitterTurns::next(uint32_t after) const noexcept {
  const auto n = static_cast<uint32_t>(all_.size());
  for (uint32_t k = 1; k < n; ++k) {
    const Submitter &s = all_[(after + k) % n];
    if (s.thread && (!s.awaited || s.awaited->is_over())) return (after + k) % n;
  }
  return kNone;
}

void SubmitterTurns::hand_to(uint32_t number) noexcept {
  turn_ = number;
  changed_.notify_all();
}

Result<void> SubmitterTurns::enter(ThreadState &thread, uint32_t number, uint32_t count) {
  std::unique_lock lock(mutex_);
  if (count == 0 || count > kMost || number >= count)
    return error(CONSORT_E_INVAL, "submitter " + std::to_string(number) + " of " + std::to_string(count) +
                                      ": numbers are 0 to count - 1, and count is 1 to " + std::to_string(kMost));
  if (number_of(thread) != kNone) return error(CONSORT_E_BUSY, "this thread is a registered submitter already");
  if (entered_ == 0) all_.assign(count, {});
  if (all_.size() != count)
    return error(CONSORT_E_INVAL, "the other submitters said that there are " + std::to_string(all_.size()) + ", not " +
                                      std::to_string(count));
  if (all_[number].thread)
    return error(CONSORT_E_INVAL, "submitter " + std::to_string(number) + " is another thread already");
  if (entered_ == count) return error(CONSORT_E_INVAL, "all submitters have entered, and not all have left");
  all_[number].thread = &thread;
  any_.store(true, std::memory_order_relaxed);
  if (++entered_ == count) hand_to(0);
  changed_.wait(lock, [&] { return turn_ == number; });
  return {};
}

Result<void> SubmitterTurns::leave(ThreadState &thread) {
  const std::lock_guard lock(mutex_);
  const uint32_t me = number_of(thread);
  if (me == kNone) return error(CONSORT_E_INVAL, "this thread is no registered submitter");
  all_[me].thread = nullptr;
  if (++left_ == all_.size()) {
    all_.clear();
    entered_ = left_ = 0, turn_ = kNone;
    any_.store(false, std::memory_order_relaxed);
    return {};
  }
  uint32_t to = next(me);
  // If all others wait, the first of them steps the machine.
  for (uint32_t k = 1; to == kNone && k < all_.size(); ++k)
    if (all_[(me + k) % all_.size()].thread) to = static_cast<uint32_t>((me + k) % all_.size());
  hand_to(to);
  return {};
}

SubmitterTurns::Wait::Wait(SubmitterTurns &turns, ThreadState &thread, const Awaited &awaited) noexcept
    : turns_(turns), me_(kNone) {
  if (!turns.any_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(turns.mutex_);
  me_ = turns.number_of(thread);
  if (me_ != kNone) outer_ = std::exchange(turns.all_[me_].awaited, &awaited);
}

SubmitterTurns::Wait::~Wait() {
  if (me_ == kNone) return;
  const std::lock_guard lock(turns_.mutex_);
  turns_.all_[me_].awaited = outer_;
}

bool SubmitterTurns::Wait::passed_on() noexcept {
  if (me_ == kNone) return false;
  std::unique_lock lock(turns_.mutex_);
  const uint32_t to = turns_.next(me_);
  if (to == kNone) return false;
  turns_.hand_to(to);
  turns_.changed_.wait(lock, [&] { return turns_.turn_ == me_; });
  return true;
}

uint64_t SubmitterTurns::Wait::deadline(uint64_t own) const noexcept {
  if (me_ == kNone) return own;
  const std::lock_guard lock(turns_.mutex_);
  for (const Submitter &s : turns_.all_)
    if (s.thread && s.awaited) own = std::min(own, s.awaited->deadline());
  return own;
}

}  // namespace consort
