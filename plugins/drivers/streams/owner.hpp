// owner.hpp — shared state of a device's queues: the lock of their rings, their list, device loss.
//
// Base class of a driver's Device. `mutex` guards the rings, `queues` and `reported_`; it is not held over blocking calls.
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

  consort_status fail(consort_status status, const std::string &text) const noexcept {  // prefixed with the device's name
    try {
      return host->fail(host, status, prefixed(text).c_str());
    } catch (const std::bad_alloc &) {
      return host->fail(host, status, plugin_);
    }
  }
  void warn(const std::string &text) noexcept {  // rate-limited: a broken kernel fails often
    constexpr uint32_t kLoud = 8;
    if (warnings_.fetch_add(1, std::memory_order_relaxed) < kLoud) try {
        host->log(host, 1, prefixed(text).c_str());
      } catch (const std::bad_alloc &) {  // no message without memory
      }
  }

  // Mutex held: completes every op of every queue with E_DEVICE_LOST.
  void mark_lost() noexcept {
    lost.store(true, std::memory_order_release);  // acquire: alloc, load, submit
    for (Queue<Lane> *q : queues) q->fail_all();
    changed.notify_all();
  }
  // The same without the mutex held; also reports it to the kernel.
  void mark_lost_and_report() noexcept {
    {
      const std::lock_guard lock(mutex);
      mark_lost();
    }
    report_if_lost();
  }
  // Reports the loss to the kernel once, when all ops are complete. Without the mutex.
  void report_if_lost() noexcept {
    {
      const std::lock_guard lock(mutex);
      if (!lost.load(std::memory_order_relaxed) || reported_) return;
      for (const Queue<Lane> *q : queues)
        if (q->is_issuing()) return;  // the issuing thread calls this again
      reported_ = true;
    }
    host->event(host, CONSORT_EV_DEVICE_LOST, token, 0);
  }
  // A device that sleeps has no vendor context yet. Its Device has wake(), which may block: < 0 means that the device is lost.
  bool is_asleep() const noexcept { return asleep.load(std::memory_order_acquire); }
  // For wake(): calls create(), which creates the context and what the queues need, once. `turn`: the driver's mutex for this.
  template <class Create>
  consort_status wake_by(std::mutex &turn, Create create) noexcept {
    if (is_asleep()) {
      const std::lock_guard lock(turn);
      if (is_asleep()) {
        const consort_status s = attempt(create);
        if (s < 0) give_up();
        asleep.store(false, std::memory_order_release);
      }
    }
    return is_lost() ? fail(CONSORT_E_DEVICE_LOST, "the device is lost") : CONSORT_OK;
  }
  template <class Step>
  static consort_status attempt(Step step) noexcept {
    try {
      return step();
    } catch (const std::bad_alloc &) {
      return CONSORT_E_NOMEM;
    }
  }
  void give_up() noexcept {
    warn("it cannot be used: its context could not be created");
    mark_lost_and_report();
  }
  bool is_lost() const noexcept { return lost.load(std::memory_order_acquire); }

  const consort_host *const host;
  const uint64_t token;
  std::mutex mutex;
  std::condition_variable changed;  // signals: an op was issued, the helper thread has work, the device is lost
  std::vector<Queue<Lane> *> queues;
  std::atomic<bool> asleep{false};  // release when the context exists pairs with is_asleep()
  std::atomic<bool> lost{false};  // release in mark_lost() pairs with is_lost(); other loads are hints

 protected:
  ~Owner() = default;

 private:
  std::string prefixed(const std::string &text) const { return plugin_ + (": " + name_) + ": " + text; }
  const char *const plugin_;
  const std::string name_;
  bool reported_ = false;  // guarded by mutex
  std::atomic<uint32_t> warnings_{0};  // relaxed: a counter
};

}  // namespace streams
