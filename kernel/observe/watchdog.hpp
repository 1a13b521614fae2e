// watchdog.hpp — says what everything waits for when nothing moves for a while (the setting `watchdog`).
//
// A thread of its own, owned by the runtime, counts ends and submissions in real time. It only reads, so it can describe a
// standstill, and a body that merely takes long looks like one: the text then says that its worker is at work.
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "base/park.hpp"
#include "base/result.hpp"

namespace consort {

struct Execution;

class Watchdog {
 public:
  explicit Watchdog(Execution &rt) : rt_(rt) {}
  ~Watchdog() { end(); }

  // describe: what everything waits for; it may throw bad_alloc. 0 seconds: does nothing.
  Result<void> begin(uint64_t seconds, std::function<std::string()> describe);
  void end() noexcept;                               // before any worker goes

 private:
  void run() noexcept;

  Execution &rt_;
  std::function<std::string()> describe_;            // constant while the thread runs, as is the next
  uint64_t patience_ = 0;                            // ns
  std::atomic<bool> ending_{false};                  // release in end() pairs with the acquire in run()
  Parker parker_;
  std::thread thread_;
};

}  // namespace consort
