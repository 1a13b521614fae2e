// The oracle of the checked run: each task exactly once, in an order that a sequential run could have had.
// Owned by the process; expect() runs before the first task, ran() and the like inside tasks on any thread, verdict()
// after the last. It must never order anything by itself: the versions are plain words, so that only the runtime keeps
// them consistent.
#pragma once
#include "patterns.hpp"
#include <atomic>
#include <chrono>
#include <memory>

namespace bench {

class Check {
public:
  // What each task must find on its data, given by the order of submission of its own submitter. With one submitter
  // that is everything; between two only exclusion is promised, and is looked at through `state`.
  void expect(const Plan &p) {
    share_ = p.share();
    n_ = p.n;
    failures_ = 0;
    count_ = inline_ = 0;
    anonymous_ = false;
    times_ = std::make_unique<std::atomic<uint8_t>[]>(p.n);
    cells_ = std::make_unique<Cell[]>(p.data);
    first_writer_.assign(p.data, none);
    tasks_.assign(p.n, {});
    struct Seen { uint64_t last; uint32_t reads; };
    for (unsigned s = 0; s < p.submitters; ++s) {
      std::vector<Seen> seen(p.data, Seen{0, 0});
      each_task(p, s, [&](uint64_t i, const auto &uses) {
        Expected &e = tasks_[i];
        e.count = uses.count;
        for (unsigned k = 0; k < uses.count; ++k) {
          const uint32_t d = uses.id[k];
          e.id[k] = d;
          e.last[k] = seen[d].last;
          if (k + 1 == uses.count) {
            e.reads = seen[d].reads;
            (seen[d].last ? tasks_[seen[d].last - 1].next_writer : first_writer_[d]) = i;
            seen[d] = {i + 1, 0};
          } else {
            ++seen[d].reads;
          }
        }
      });
    }
  }

  void ran(uint64_t i) {
    count_.fetch_add(1, std::memory_order_relaxed);
    if (submitting == i) inline_.fetch_add(1, std::memory_order_relaxed);
    if (i >= n_) return fail();
    const Expected &e = tasks_[i];
    const auto s = static_cast<unsigned>(i / share_);
    for (unsigned k = 0; k < e.count; ++k) {
      Cell &c = cells_[e.id[k]];
      const bool writes = k + 1 == e.count;
      if (writes) {
        enter(c);
        if (c.reads[s].load(std::memory_order_relaxed) != e.reads) fail();
      } else if (c.state.fetch_add(1, std::memory_order_relaxed) < 0) {
        fail();
      }
      if (c.last[s] != e.last[k]) fail();
    }
    if (e.count) linger();
    for (unsigned k = 0; k < e.count; ++k) {
      Cell &c = cells_[e.id[k]];
      if (k + 1 == e.count) {
        c.last[s] = i + 1;
        c.reads[s].store(0, std::memory_order_relaxed);
        c.state.store(0, std::memory_order_relaxed);
      } else {
        c.reads[s].fetch_add(1, std::memory_order_relaxed);
        c.state.fetch_sub(1, std::memory_order_relaxed);
      }
    }
    if (times_[i].fetch_add(1, std::memory_order_relaxed) != 0) fail();
  }

  // A task that carries no value: it is the one whose turn it is on the datum that it writes.
  void ran_on(uint32_t datum) {
    const uint64_t last = cells_[datum].last[0];
    ran(last ? tasks_[last - 1].next_writer : first_writer_[datum]);
  }
  // A task that knows nothing about itself: only counted.
  void ran_unknown() {
    anonymous_ = true;
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  // A task that adds its number to a datum, on a copy of its own or alone on the datum itself.
  void adds(uint64_t i, uint64_t *cell, bool alone) {
    count_.fetch_add(1, std::memory_order_relaxed);
    if (i >= n_ || times_[i].fetch_add(1, std::memory_order_relaxed) != 0) fail();
    if (alone) enter(cells_[0]);
    *cell += i + 1;
    if (alone) linger();
    if (alone) cells_[0].state.store(0, std::memory_order_relaxed);
  }

  bool has_run(uint64_t i) const { return anonymous_ ? count_.load(std::memory_order_relaxed) > i : times_[i].load(std::memory_order_relaxed) == 1; }
  void fail() { failures_.fetch_add(1, std::memory_order_relaxed); }

  // Failed observations, and one for each task that did not run exactly once.
  uint64_t verdict() const {
    uint64_t bad = failures_.load(std::memory_order_relaxed);
    bad += count_.load(std::memory_order_relaxed) != n_;
    for (uint64_t i = 0; !anonymous_ && i < n_; ++i) bad += !has_run(i);
    return bad;
  }
  // The share of the tasks that ran inside of their own submission.
  double share_inline() const { return n_ ? static_cast<double>(inline_.load(std::memory_order_relaxed)) / static_cast<double>(n_) : 0; }

  static constexpr uint64_t none = UINT64_MAX;
  static inline thread_local uint64_t submitting = none; // the task that this thread submits now

private:
  struct Cell {
    std::atomic<int> state{0}; // readers inside, or -1: a writer. Relaxed: it observes, it must not synchronise
    std::atomic<uint32_t> reads[2] = {0, 0};
    uint64_t last[2] = {0, 0};
  };
  struct Expected {
    std::array<uint32_t, max_uses> id;
    std::array<uint64_t, max_uses> last;
    uint32_t count, reads;
    uint64_t next_writer = none; // of the datum that it writes
  };
  void enter(Cell &c) {
    int free = 0;
    if (!c.state.compare_exchange_strong(free, -1, std::memory_order_relaxed)) fail();
  }
  // Stays on the data for as long as two tasks that nothing keeps apart need to meet.
  static void linger() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(1);
    while (std::chrono::steady_clock::now() < end) {}
  }
  uint64_t n_ = 0, share_ = 1;
  std::vector<Expected> tasks_;
  std::vector<uint64_t> first_writer_; // by datum
  std::unique_ptr<Cell[]> cells_;
  std::unique_ptr<std::atomic<uint8_t>[]> times_;
  std::atomic<bool> anonymous_{false};
  std::atomic<uint64_t> failures_{0}, count_{0}, inline_{0}; // pair with nothing: read when all tasks are done
};

} // namespace bench
