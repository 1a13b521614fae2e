// thread_ranks.hpp — ranks of a job that are threads of this process (consort_rank_main), and where they meet.
//
// Each thread runs the program's function, which starts a runtime of its own. A runtime that this thread makes finds its
// rank by of_this_thread(). The board has a mutex, which is a leaf. [control].
#pragma once
#include <consort/distributed.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "remote/rank_boot.hpp"

namespace consort {

class ThreadRanks;

class ThreadRank final : public RankBoot {
 public:
  ThreadRank(ThreadRanks &all, uint32_t rank) noexcept : all_(all), rank_(rank) {}
  static ThreadRank *of_this_thread() noexcept;  // nullptr: it is no rank

  uint32_t rank() const noexcept { return rank_; }
  uint32_t ranks() const noexcept;
  consort_status put(const char *key, const void *, uint32_t n) noexcept override;
  consort_status get(uint32_t rank, const char *key, void *, uint32_t *n, uint64_t deadline) noexcept override;
  consort_status fence(uint64_t deadline) noexcept override;
  void abort(const char *why) noexcept override;
  std::string end_of(uint32_t rank) const override;
  void describe(consort_boot &) const noexcept override;

  // Runtimes that have joined and not left; relaxed: it is read by its own thread after their ends.
  std::atomic<uint32_t> joined{0};

 private:
  friend class ThreadRanks;
  ThreadRanks &all_;
  const uint32_t rank_;
  uint32_t fences_ = 0;
};

class ThreadRanks {
 public:
  explicit ThreadRanks(uint32_t n);
  // Runs f as each rank and returns the first status that is not 0. May throw std::system_error: no thread.
  int run(consort_rank_fn *f, int argc, char **argv);

 private:
  friend class ThreadRank;
  int run_one(ThreadRank &, consort_rank_fn *, int argc, char **argv);

  const std::string job_;
  unsigned char secret_[32];
  mutable std::mutex mutex_;               // guards the following fields
  std::condition_variable put_, fenced_;
  std::vector<std::map<std::string, std::string, std::less<>>> board_;  // by rank
  std::vector<bool> ended_;
  std::vector<uint32_t> fences_;           // by number: ranks that have come
  uint32_t gone_ = 0;
};

}  // namespace consort
