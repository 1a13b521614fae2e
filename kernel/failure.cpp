#include "failure.hpp"

namespace consort {

std::shared_ptr<const Failure> Failure::next_cause(const std::shared_ptr<const Failure> &direct) {
  if (!direct || direct->depth < kDepth) return direct;
  auto root = direct;
  while (root->cause) root = root->cause;
  return root;
}

std::string Failure::sentence() const {
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

void FailureLog::add(std::shared_ptr<const Failure> f) {
  std::lock_guard lock(mutex_);
  const TaskName name = f->task;
  if (by_name_.emplace(name, std::move(f)).second) order_.push_back(name);
  if (order_.size() > kKept) {
    by_name_.erase(order_.front());
    order_.pop_front();
  }
  count_.store(by_name_.size(), std::memory_order_release);
}

std::shared_ptr<const Failure> FailureLog::find(TaskName name) const {
  if (empty()) return nullptr;
  std::lock_guard lock(mutex_);
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

}  // namespace consort
