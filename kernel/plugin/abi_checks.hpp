// abi_checks.hpp — watches that host and plugin keep to the thread tags of the ABI (setting `check`).
//
// When on, the registry hands the runtime tables whose functions look before and after the plugin's own: is a
// [control] function entered by one thread at a time, a [worker] one by the worker's owner, a [queue] one once
// per queue; are the counts it answers within what it was given; does it call a [control] service of the host
// from where it must not. A violation is logged, naming plugin, function and tag, and counted; it never aborts,
// and an answer that would break the kernel is cut to what is safe. When off it costs nothing.
// Interfaces are not watched: their functions get no pointer by which the watcher would know whose they are.
// While on, get() of a plugin answers NULL: an extension's table would be handed the watcher's handles.
#pragma once
#include <consort/driver.h>
#include <consort/scheduler.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "plugin/manifest.hpp"

namespace consort {

class Host;

// Which worker's token the calling thread holds: a number, or CONSORT_NONE. A thread that never said is believed.
void set_current_worker(uint32_t) noexcept;
uint32_t current_worker() noexcept;  // CONSORT_NONE also where it was never said

class ThreadTagChecks {
 public:
  explicit ThreadTagChecks(const Host &host) : host_(host) {}

  // Wraps manifest's table and *self; call once, after init(). E_NOMEM leaves both as they were.
  consort_status wrap(Manifest &, void **self) noexcept;
  void *unwrap(void *self) noexcept;  // as the plugin knows it; frees the watcher's part

  void violation(const char *function, const char *tag, const std::string &what) noexcept;  // [any]
  uint64_t violations() const noexcept { return count_.load(std::memory_order_relaxed); }

  // Before and after a [control] call.
  bool enter_control(const char *function) noexcept;
  void leave_control(bool entered) noexcept;

  const consort_driver_ops *driver() const noexcept { return &theirs_.driver; }
  const consort_scheduler_ops *scheduler() const noexcept { return &theirs_.scheduler; }

 private:
  const Host &host_;
  union { consort_driver_ops driver; consort_scheduler_ops scheduler; } theirs_{};
  std::atomic<uint64_t> count_{0};        // alone: a statistic; relaxed
  std::atomic<uintptr_t> control_{0};     // the thread inside [control]; acquire and release pair with one another
  uint32_t depth_ = 0;                    // of that thread
};

// Called by the host table for services that only [control] functions may use.
void watch_host_call(const Host &, const char *service) noexcept;

}  // namespace consort
