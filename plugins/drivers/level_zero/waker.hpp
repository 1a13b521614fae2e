// waker.hpp — a thread that waits for events and signals wake fds, because Level Zero has no callbacks.
//
// Started with its queue, because arm() may start no thread; idle while no event is registered. Owned by one Lane.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "../streams/wake_fd.hpp"
#include "events.hpp"

namespace level_zero {

class Waker {
 public:
  Waker(const Api &api, Events &events) : api_(api), events_(events) {}
  ~Waker();
  Waker(const Waker &) = delete;
  Waker &operator=(const Waker &) = delete;

  bool start() noexcept;
  // Signals and releases the wake fd when the event is signalled or its device is lost. False: no memory, poll instead.
  bool signal_for(Event *, streams::WakeFd *) noexcept;

 private:
  struct Item {
    Event *event;
    streams::WakeFd *wake;
  };
  void run() noexcept;
  void wake(const Item &i) noexcept {
    events_.drop(i.event);
    streams::WakeFd::signal_and_release(i.wake);
  }

  const Api &api_;
  Events &events_;
  std::mutex mutex_;  // locked before the events' mutex
  std::condition_variable more_;
  std::vector<Item> items_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace level_zero
