// progress.hpp — how far the run is: a call, and a line on the terminal (the setting `progress`).
//
// The line belongs to a thread of its own, owned by the runtime, which only reads. It is never written where standard error
// is no terminal.
#pragma once
#include <consort/reports.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/park.hpp"
#include "base/result.hpp"

namespace consort {

struct Execution;

// How fast tasks end, from what was seen of late.
class EndRate {
 public:
  // done: so far, at `now` in ns. Returns ns until `pending` more have ended; UINT64_MAX: unknown yet.
  uint64_t left(uint64_t now, uint64_t done, uint64_t pending);  // may throw

 private:
  struct Seen { uint64_t at, done; };
  std::deque<Seen> seen_;                            // some seconds at most, the oldest first
};

class Progress {
 public:
  explicit Progress(Execution &rt) : rt_(rt) {}
  ~Progress() { end(); }

  consort_progress now();                            // [any] may throw bad_alloc
  Result<void> begin(bool line);                     // false: no line
  void end() noexcept;                               // removes it; before any worker goes

 private:
  void run() noexcept;
  void show(const std::string &text) noexcept;

  Execution &rt_;
  std::mutex mutex_;                                 // a leaf
  EndRate rate_;                                     // under it
  std::atomic<bool> ending_{false};                  // release in end() pairs with the acquire in run()
  Parker parker_;
  std::thread thread_;
};

// "12,345 of 50,000 tasks, 2 running, about 14 s left". May throw.
std::string progress_line(const consort_progress &);

}  // namespace consort
