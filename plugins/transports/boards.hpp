// boards.hpp — the boards of a transport's start-up, each for the host that has asked for it. A board has what the functions
// of a consort_boot need; the host is all that they are called with.
#pragma once
#include <consort/plugin/host.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace transports {

template <class Board>
class Boards {  // any thread
 public:
  explicit Boards(const char *network) : network_(network) {}
  void add(const consort_host *h, std::unique_ptr<Board> board) {
    const std::lock_guard guard(mutex_);
    all_[h] = std::move(board);
  }
  void remove(const consort_host *h) noexcept {
    const std::lock_guard guard(mutex_);
    all_.erase(h);
  }
  // Calls f with the host's board; what it throws is told to the host.
  template <class F>
  consort_status with(const consort_host *h, F f) noexcept {
    return consort::plugin::guarded(consort::plugin::Host(h), [&] {
      Board *board = nullptr;
      {
        const std::lock_guard guard(mutex_);
        if (const auto found = all_.find(h); found != all_.end()) board = found->second.get();
      }
      if (!board) throw consort::plugin::Error(CONSORT_E_INVAL, std::string("there is no job over ") + network_);
      f(*board);
    });
  }

 private:
  const char *const network_;
  std::mutex mutex_;  // guards the field below
  std::map<const consort_host *, std::unique_ptr<Board>> all_;
};

}  // namespace transports
