#include "remote/thread_ranks.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#include "base/last_error.hpp"
#include "remote/folder_boot.hpp"

namespace consort {
namespace {

thread_local constinit ThreadRank *this_rank = nullptr;

std::chrono::steady_clock::time_point time_of(uint64_t ns) noexcept {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(std::min(ns, uint64_t{INT64_MAX})));
}

}  // namespace

ThreadRank *ThreadRank::of_this_thread() noexcept { return this_rank; }
uint32_t ThreadRank::ranks() const noexcept { return static_cast<uint32_t>(all_.board_.size()); }

consort_status ThreadRank::put(const char *key, const void *bytes, uint32_t n) noexcept try {
  {
    const std::lock_guard lock(all_.mutex_);
    all_.board_[rank_][key].assign(static_cast<const char *>(bytes), n);
  }
  all_.put_.notify_all();
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the board of the ranks");
}

consort_status ThreadRank::get(uint32_t r, const char *key, void *out, uint32_t *n, uint64_t deadline) noexcept {
  if (r >= ranks()) return set_errorf(CONSORT_E_INVAL, "the job has no rank %u", r);
  std::unique_lock lock(all_.mutex_);
  const auto &its = all_.board_[r];
  auto found = its.end();
  const bool in_time = all_.put_.wait_until(lock, time_of(deadline), [&] {
    found = its.find(std::string_view(key));
    return found != its.end() || all_.ended_[r];
  });
  if (!in_time) return set_errorf(CONSORT_E_TIMEOUT, "rank %u has not joined the job in time", r);
  if (found == its.end()) return set_errorf(CONSORT_E_PEER_LOST, "rank %u has ended before it joined the job", r);
  const auto room = *n;
  *n = static_cast<uint32_t>(found->second.size());
  found->second.copy(static_cast<char *>(out), room);
  return *n > room ? set_errorf(CONSORT_E_TRUNCATED, "%s has %u bytes", key, *n) : CONSORT_OK;
}

consort_status ThreadRank::fence(uint64_t deadline) noexcept try {
  std::unique_lock lock(all_.mutex_);
  const uint32_t number = fences_++;
  if (all_.fences_.size() <= number) all_.fences_.resize(number + 1);
  if (++all_.fences_[number] == ranks()) {
    lock.unlock();
    all_.fenced_.notify_all();
    return CONSORT_OK;
  }
  const bool in_time = all_.fenced_.wait_until(lock, time_of(deadline), [&] { return all_.fences_[number] == ranks() || all_.gone_; });
  if (!in_time) return set_error(CONSORT_E_TIMEOUT, "some rank has not joined the job in time");
  return all_.fences_[number] == ranks() ? CONSORT_OK : set_error(CONSORT_E_PEER_LOST, "a rank has ended before it joined the job");
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the board of the ranks");
}

void ThreadRank::abort(const char *why) noexcept {
  std::fprintf(stderr, "consort: the job is ended: %s\n", why);
  std::fflush(nullptr);
  std::_Exit(1);
}

std::string ThreadRank::end_of(uint32_t r) const {
  const std::lock_guard lock(all_.mutex_);
  return all_.ended_[r] ? "has ended" : "";
}

void ThreadRank::describe(consort_boot &b) const noexcept {
  b.rank = rank_, b.nranks = ranks();
  b.job = all_.job_.c_str();
  b.host_id = host_number();
  b.secret = all_.secret_, b.nsecret = sizeof all_.secret_;
}

ThreadRanks::ThreadRanks(uint32_t n) : job_("threads-" + std::to_string(getpid())), board_(n), ended_(n) {
  for (size_t done = 0; done < sizeof secret_;) {
    const ssize_t got = getrandom(secret_ + done, sizeof secret_ - done, 0);
    if (got < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
    if (got > 0) done += static_cast<size_t>(got);
  }
}

int ThreadRanks::run_one(ThreadRank &rank, consort_rank_fn *f, int argc, char **argv) {
  std::vector<char *> words(argv, argv + argc);
  words.push_back(nullptr);
  this_rank = &rank;
  const int status = f(argc, words.data());
  this_rank = nullptr;
  if (rank.joined.load(std::memory_order_relaxed)) {  // the others might wait for it in vain
    std::fprintf(stderr, "consort: rank %u has returned without stopping its runtime: the job is ended\n", rank.rank());
    std::fflush(nullptr);
    std::_Exit(status ? status : 1);
  }
  {
    const std::lock_guard lock(mutex_);
    ended_[rank.rank()] = true;
    ++gone_;
  }
  put_.notify_all(), fenced_.notify_all();
  return status;
}

int ThreadRanks::run(consort_rank_fn *f, int argc, char **argv) {
  const size_t n = board_.size();
  std::vector<std::unique_ptr<ThreadRank>> ranks;
  for (uint32_t r = 0; r < n; ++r) ranks.push_back(std::make_unique<ThreadRank>(*this, r));
  std::vector<int> status(n);
  std::vector<std::thread> threads;
  try {
    for (uint32_t r = 1; r < n; ++r) threads.emplace_back([&, r] { status[r] = run_one(*ranks[r], f, argc, argv); });
  } catch (const std::system_error &e) {
    std::fprintf(stderr, "consort: no thread for rank %zu of %zu: %s\n", threads.size() + 1, n, e.what());
    std::_Exit(1);  // the ranks that run wait for all
  }
  status[0] = run_one(*ranks[0], f, argc, argv);
  for (std::thread &t : threads) t.join();
  for (const int s : status)
    if (s) return s;
  return 0;
}

}  // namespace consort
