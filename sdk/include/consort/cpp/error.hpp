// consort/cpp/error.hpp — consort::Error, timeouts, and how a runtime's face outlives its runtime.
//
// Part of consort.hpp; include that. Everything here is a value or a counted reference; nothing throws but
// detail::check(), nothing allocates but Error and detail::Control.
#ifndef CONSORT_CPP_ERROR_HPP
#define CONSORT_CPP_ERROR_HPP
#include <consort/consort.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace consort::inline face {

struct Failure;
// What every failing call throws: the status, and a sentence that says what to do.
class Error : public std::runtime_error {
 public:
  // Of a status, with this text as what().
  Error(consort_status status, const char *text) : std::runtime_error(text), status_(status) {}
  consort_status status() const noexcept { return status_; }  // The status of the call that failed: < 0.
  // The task that failed, its worker, the datum and the causes, where a wait threw this; false where the call itself was refused.
  Failure failure() const;

 private:
  consort_status status_;
};

// Any std::chrono duration, or nothing: for ever. A negative duration is over already. (<chrono> is the
// caller's to include; this header does not need it.)
class Timeout {
 public:
  constexpr Timeout() noexcept = default;
  // Of any duration; more than 9e18 ns: for ever.
  template <class Duration>
  requires requires(const Duration &d) {
    static_cast<double>(d.count());
    Duration::period::num;
    Duration::period::den;
  }
  constexpr Timeout(const Duration &d) noexcept
      : ns_(nanoseconds(static_cast<double>(d.count()) * Duration::period::num / Duration::period::den * 1e9)) {}
  constexpr int64_t ns() const noexcept { return ns_; }  // Nanoseconds; CONSORT_FOREVER: no limit.

 private:
  static constexpr int64_t nanoseconds(double ns) noexcept {
    if (!(ns > 0)) return 0;
    return ns < 9e18 ? static_cast<int64_t>(ns) : CONSORT_FOREVER;
  }
  int64_t ns_ = CONSORT_FOREVER;
};

namespace detail {

[[noreturn, gnu::cold, gnu::noinline]] inline void raise(consort_status status) {
  const char *text = consort_error();
  throw Error(status, *text ? text : consort_status_name(status));
}
[[noreturn, gnu::cold, gnu::noinline]] inline void raise(consort_status status, const char *text) {
  throw Error(status, text);
}
inline consort_status check(consort_status status) {
  if (status < 0) [[unlikely]] raise(status);
  return status;
}

// While it lives, its thread alone has the lock. For what happens seldom.
class Guard {
 public:
  explicit Guard(std::atomic<bool> &lock) noexcept : lock_(lock) {
    while (lock_.exchange(true, std::memory_order_acquire)) lock_.wait(true, std::memory_order_relaxed);
  }
  ~Guard() {
    lock_.store(false, std::memory_order_release);  // pairs with the acquire above
    lock_.notify_one();
  }

 private:
  std::atomic<bool> &lock_;  // see Guard: exchange acquire, store release
};

// What a runtime keeps for its face until it has stopped.
struct Kept {
  Kept() = default;
  Kept(const Kept &) = delete;
  virtual ~Kept() = default;
  Kept *next = nullptr;
  const void *kind = nullptr;  // one address for each type
};

// One per runtime. Its address identifies the runtime as long as it is referenced, so a new runtime is never taken for
// an ended one at the same address.
struct Control {
  std::atomic<consort_runtime *> runtime{
      nullptr};  // null: stopped. Release in Runtime's end pairs with acquire in live()
  std::atomic<uint32_t> references{1};              // acq_rel in ~Ref pairs with itself
  std::atomic<bool> lock{false};                    // see Guard
  Kept *kept = nullptr;                             // under `lock`

  void drop_kept() noexcept {  // after the stop: what is kept refers to this
    const Guard guard(lock);
    while (Kept *k = std::exchange(kept, kept ? kept->next : nullptr)) delete k;
  }
};

class Ref {
 public:
  Ref() noexcept = default;
  explicit Ref(Control *owned) noexcept : control_(owned) {}
  Ref(const Ref &other) noexcept : control_(other.control_) {
    if (control_) control_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Ref(Ref &&other) noexcept : control_(std::exchange(other.control_, nullptr)) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(control_, other.control_);
    return *this;
  }
  ~Ref() {
    if (control_ && control_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete control_;
  }
  const Control *get() const noexcept { return control_; }
  Control *keeper() const noexcept { return control_; }
  consort_runtime *live() const noexcept {  // null: never was, or has stopped
    return control_ ? control_->runtime.load(std::memory_order_acquire) : nullptr;
  }
  consort_runtime *need() const {
    if (consort_runtime *rt = live()) [[likely]] return rt;
    raise(CONSORT_E_STOPPED, "the runtime of this object has stopped, or the object was moved from; make it anew");
  }

 private:
  Control *control_ = nullptr;
};

}  // namespace detail
}  // namespace consort::inline face
#endif
