#include "task/failure.hpp"

#include <algorithm>
#include <unordered_set>

namespace consort {

std::shared_ptr<const Failure> Failure::next_cause(const std::shared_ptr<const Failure> &direct) {
  if (!direct || direct->depth < kDepth) return direct;
  auto root = direct;
  while (root->cause) root = root->cause;
  return root;
}

const Failure &Failure::root() const noexcept {
  const Failure *f = this;
  while (f->cause) f = f->cause.get();
  return *f;
}

void Failure::tell() const noexcept {
  told.store(true, std::memory_order_relaxed);
  root().told.store(true, std::memory_order_relaxed);
}

bool Failure::was_told() const noexcept {
  const auto is = [](const Failure &f) {
    return f.told.load(std::memory_order_relaxed) || (f.collected && f.collected->load(std::memory_order_relaxed));
  };
  return is(*this) || is(root());
}

std::string Failure::sentence() const {
  if (status == CONSORT_E_STALE && !task) return text;
  if (tag_given_up) return task_name + " " + text;
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
  f = std::make_shared<Failure>();
  f->status = CONSORT_E_STALE;
  f->task = 0;
  f->worker = CONSORT_NONE;
  f->task_name = "unknown";
  f->text = "it is not known any more whether the task failed: the last " + std::to_string(kKept) +
            " failures are kept; wait for a task, or name it in `after`, before so many others have failed";
  stale_ = std::move(f);
}

const std::shared_ptr<const Failure> &FailureLog::add_lost(TaskName name) noexcept {
  std::lock_guard lock(mutex_);
  lost_names_[nlost_++ % std::size(lost_names_)] = name;
  lost_->told.store(false, std::memory_order_relaxed);
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
  count_.fetch_add(1, std::memory_order_release);
  if (order_.size() > kKept) forget_oldest();
}

void FailureLog::forget_oldest() noexcept try {
  const TaskName name = order_.front();
  uint32_t &generation = forgotten_[static_cast<uint32_t>(name)];
  generation = std::max(generation, static_cast<uint32_t>(name >> 32));
  const auto it = by_name_.find(name);
  if (!untold_ || untold_->was_told()) untold_ = it->second->was_told() ? nullptr : it->second;
  by_name_.erase(it);
  order_.pop_front();
} catch (const std::bad_alloc &) {
}

void FailureLog::add_unnamed(std::shared_ptr<const Failure> f) {
  std::lock_guard lock(mutex_);
  if (unnamed_.size() < kUnnamed) unnamed_.push_back(std::move(f));
  count_.fetch_add(1, std::memory_order_release);
}

std::vector<std::shared_ptr<const Failure>> FailureLog::untold(size_t most, size_t *n) const {
  std::vector<std::shared_ptr<const Failure>> all;
  std::unordered_set<const Failure *> roots;
  *n = 0;
  if (empty()) return all;
  std::lock_guard lock(mutex_);
  const auto look = [&](const std::shared_ptr<const Failure> &f) {
    // a tag that was given up is reported with the task that waited for it
    if (!f || f->tag_given_up || f->was_told()) return;
    if (!roots.insert(&f->root()).second) return;
    if (++*n <= most) all.push_back(f);
  };
  look(untold_);
  for (const TaskName name : order_) look(by_name_.find(name)->second);
  for (const auto &f : unnamed_) look(f);
  if (nlost_) look(lost_);
  return all;
}

std::shared_ptr<const Failure> FailureLog::find(TaskName name) const {
  if (empty()) return nullptr;
  std::lock_guard lock(mutex_);
  const auto it = by_name_.find(name);
  if (it != by_name_.end()) return it->second;
  if (std::find(lost_names_, std::end(lost_names_), name) != std::end(lost_names_)) return lost_;
  const auto gone = forgotten_.find(static_cast<uint32_t>(name));
  return gone != forgotten_.end() && name >> 32 <= gone->second ? stale_ : nullptr;
}

}  // namespace consort
