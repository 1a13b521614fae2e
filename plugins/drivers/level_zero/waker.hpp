// waker.hpp — a thread that rings for events: Level Zero calls nobody back, so somebody has to wait.
//
// Started with its queue, for arm() may start none; it sleeps while nobody else does. Owned by one Lane.
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
  // Rings the kept bell, and drops it, when the event is signalled or its device is lost. false: it has to be asked.
  bool ring_for(Event *, streams::Bell *) noexcept;

 private:
  struct Item {
    Event *event;
    streams::Bell *bell;
  };
  void run() noexcept;
  void ring(const Item &i) noexcept {
    events_.drop(i.event);
    streams::Bell::ring_and_drop(i.bell);
  }

  const Api &api_;
  Events &events_;
  std::mutex mutex_;  // before that of the events
  std::condition_variable more_;
  std::vector<Item> items_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace level_zero
