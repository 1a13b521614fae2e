// owner.hpp — what queues of one device share: the lock of their rings, the list of them, the end of the device.
//
// The base of a driver's Device. `mutex` guards the rings, `queues`, `told`; it is held over no call that waits.
#pragma once
#include <consort/driver.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace streams {

template <class Lane>
class Queue;

template <class Lane>
class Owner {
 public:
  Owner(const consort_host *h, const char *plugin_name, std::string device_name, uint64_t t)
      : host(h), token(t), plugin_(plugin_name), name_(std::move(device_name)) {}
  Owner(const Owner &) = delete;
  Owner &operator=(const Owner &) = delete;

  consort_status fail(consort_status status, const std::string &text) const noexcept {  // with the device's name before it
    try {
      return host->fail(host, status, said(text).c_str());
    } catch (const std::bad_alloc &) {
      return host->fail(host, status, plugin_);
    }
  }
  void warn(const std::string &text) noexcept {  // the first few; a broken kernel fails often
    constexpr uint32_t kLoud = 8;
    if (warnings_.fetch_add(1, std::memory_order_relaxed) < kLoud) try {
        host->log(host, 1, said(text).c_str());
      } catch (const std::bad_alloc &) {  // without a word
      }
  }

  // With the mutex held: every op of every queue is over, with E_DEVICE_LOST.
  void lose() noexcept {
    lost.store(true, std::memory_order_release);  // acquire: alloc, load, submit
    for (Queue<Lane> *q : queues) q->give_all_back();
    changed.notify_all();
  }
  // The same, by whoever holds nothing, and the kernel is told.
  void lose_and_tell() noexcept {
    {
      const std::lock_guard lock(mutex);
      lose();
    }
    tell_if_lost();
  }
  // Tells the kernel once, when all ops have been given back. Without the mutex.
  void tell_if_lost() noexcept {
    {
      const std::lock_guard lock(mutex);
      if (!lost.load(std::memory_order_relaxed) || told_) return;
      for (const Queue<Lane> *q : queues)
        if (q->is_issuing()) return;  // whoever does comes here again
      told_ = true;
    }
    host->event(host, CONSORT_EV_DEVICE_LOST, token, 0);
  }
  bool is_lost() const noexcept { return lost.load(std::memory_order_acquire); }

  const consort_host *const host;
  const uint64_t token;
  std::mutex mutex;
  std::condition_variable changed;  // an op was issued, a helper has work, the device is lost
  std::vector<Queue<Lane> *> queues;
  std::atomic<bool> lost{false};  // release in lose() pairs with is_lost(); else a hint

 protected:
  ~Owner() = default;

 private:
  std::string said(const std::string &text) const { return plugin_ + (": " + name_) + ": " + text; }
  const char *const plugin_;
  const std::string name_;
  bool told_ = false;  // with the mutex
  std::atomic<uint32_t> warnings_{0};  // relaxed: only counted
};

}  // namespace streams
