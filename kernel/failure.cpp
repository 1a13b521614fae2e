#include "failure.hpp"

#include <algorithm>

namespace consort {

std::shared_ptr<const Failure> Failure::next_cause(const std::shared_ptr<const Failure> &direct) {
  if (!direct || direct->depth < kDepth) return direct;
  auto root = direct;
  while (root->cause) root = root->cause;
  return root;
}

std::string Failure::sentence() const {
  if (nobody_left) return task_name + " " + text;
  std::string s = "task '" + task_name + "' failed";
  if (!worker_name.empty()) s += " on worker " + worker_name;
  if (!data_name.empty()) s += ", datum '" + data_name + "'";
  return s + ": " + text;
}

std::string Failure::chain() const {
  std::string s = sentence();
  for (const Failure *f = cause.get(); f; f = f->cause.get()) s += "; because " + f->sentence();
  return s;
}

FailureLog::FailureLog() {
  auto f = std::make_shared<Failure>();
  f->status = CONSORT_E_NOMEM;
  f->task = 0;
  f->worker = CONSORT_NONE;
  f->task_name = "unknown";
  f->text = "it failed, and there was no memory to record why";
  lost_ = std::move(f);
}

const std::shared_ptr<const Failure> &FailureLog::add_lost(TaskName name) noexcept {
  std::lock_guard lock(mutex_);
  lost_names_[nlost_++ % std::size(lost_names_)] = name;
  count_.fetch_add(1, std::memory_order_release);
  return lost_;
}

void FailureLog::add_as(TaskName name, std::shared_ptr<const Failure> f) noexcept try {
  enter(name, std::move(f));
} catch (const std::bad_alloc &) {
  add_lost(name);
}

void FailureLog::add(std::shared_ptr<const Failure> f) {
  const TaskName name = f->task;
  enter(name, std::move(f));
}

void FailureLog::enter(TaskName name, std::shared_ptr<const Failure> f) {
  std::lock_guard lock(mutex_);
  if (by_name_.emplace(name, std::move(f)).second) order_.push_back(name);
  if (order_.size() > kKept) {
    by_name_.erase(order_.front());
    order_.pop_front();
  }
  count_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const Failure> FailureLog::find(TaskName name) const {
  if (empty()) return nullptr;
  std::lock_guard lock(mutex_);
  const auto it = by_name_.find(name);
  if (it != by_name_.end()) return it->second;
  return std::find(lost_names_, std::end(lost_names_), name) != std::end(lost_names_) ? lost_ : nullptr;
}

}  // namespace consort
