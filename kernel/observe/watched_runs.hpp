// watched_runs.hpp — the watch of bodies that a layer has set (consort/bodies.h), before a tracer or without one.
//
// Owned by the runtime. Set before the first worker starts, and constant after that: any thread may call it.
#pragma once
#include <consort/bodies.h>

#include <algorithm>
#include <cstring>

#include "task/run_observer.hpp"

namespace consort {

class WatchedRuns final : public RunObserver {
 public:
  explicit WatchedRuns(const consort_body_watch &watch) noexcept {
    std::memcpy(&watch_, &watch, std::min<size_t>(watch.size, sizeof watch_));
  }
  void follow(RunObserver *next) noexcept { next_ = next; }  // a tracer; nullptr: none

  const consort_body_watch *bodies() const noexcept override { return &watch_; }
  void ran(uint32_t worker, const Task &t, TaskName name, uint32_t impl, int64_t expected, uint64_t t0, uint64_t t1,
           consort_status s, Stamps stamps) noexcept override {
    if (next_) next_->ran(worker, t, name, impl, expected, t0, t1, s, stamps);
  }
  void copied(const Datum &d, uint32_t from, uint32_t to, uint64_t bytes, uint64_t t0, uint64_t t1, consort_status s,
              CopyReason why) noexcept override {
    if (next_) next_->copied(d, from, to, bytes, t0, t1, s, why);
  }
  void decided(TaskName name, uint32_t worker, float run, uint64_t end) noexcept override {
    if (next_) next_->decided(name, worker, run, end);
  }
  void fetched(TaskName name, uint32_t worker, uint64_t t0, uint64_t t1) noexcept override {
    if (next_) next_->fetched(name, worker, t0, t1);
  }
  void slept(uint32_t worker, uint64_t t0, uint64_t t1) noexcept override {
    if (next_) next_->slept(worker, t0, t1);
  }

 private:
  consort_body_watch watch_{};
  RunObserver *next_ = nullptr;
};

}  // namespace consort
