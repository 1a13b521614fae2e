// A progress bar on a terminal. Owned by main(); a thread of its own draws it ten times a second from a count that it
// asks for, so that the tasks pay nothing. It must never write where standard output is no terminal.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <thread>
#include <unistd.h>

class ProgressBar {
public:
  ProgressBar(bool wanted, uint64_t total, std::function<uint64_t()> done) : total_(total), done_(std::move(done)) {
    if (wanted && isatty(STDOUT_FILENO)) thread_ = std::thread([this] { run(); });
  }
  ProgressBar(const ProgressBar &) = delete;
  ~ProgressBar() { finish(); }

  void finish() {
    if (!thread_.joinable()) return;
    stop_.store(true, std::memory_order_relaxed); // pairs with nothing: seen at the next beat, and join() orders the rest
    thread_.join();
  }

private:
  void run() {
    while (!stop_.load(std::memory_order_relaxed)) {
      draw(done_());
      for (int beat = 0; beat < 10 && !stop_.load(std::memory_order_relaxed); ++beat) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::printf("\r\033[K");
    std::fflush(stdout);
  }
  void draw(uint64_t done) const {
    constexpr int width = 50;
    const double part = total_ == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total_);
    const int full = part >= 1 ? width : static_cast<int>(part * width);
    std::printf("\r  [");
    for (int k = 0; k < width; ++k) std::fputs(k < full ? "█" : "·", stdout);
    std::printf("] %3.0f %%  %llu of %llu tasks", 100 * (part > 1 ? 1 : part), static_cast<unsigned long long>(done < total_ ? done : total_),
                static_cast<unsigned long long>(total_));
    std::fflush(stdout);
  }

  uint64_t total_;
  std::function<uint64_t()> done_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};
