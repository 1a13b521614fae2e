// faults.cpp — the layer that injects faults: calls of plugins fail, fall short or take long, as the headers allow.
//
// Calls of a function are counted over all selected plugins; the nth call is hit, or each with a probability that depends only on
// the seed and its number. Functions that cannot fail by their contract (no result, a count, or required to return) are
// left alone. For submit() and post(), completions are counted and fail.
#include <consort/layer.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "../text.hpp"
#include "../wrap.hpp"

namespace layers {
namespace {

using D = consort_driver_ops;
using S = consort_scheduler_ops;
using T = consort_transport_ops;

constexpr consort_param params[] = {
    {"what", "string", "fail", "fail|short|delay",
     "effect on the hit calls: return `status`; accept or return fewer items (submit, post, poll, pop, drain); wait "
     "for `delay_us`"},
    {"plugins", "list", "", nullptr, "plugins concerned; empty: all"},
    {"function", "string", "", nullptr, "function concerned, such as alloc or submit; empty: all that allow the fault"},
    {"nth", "u64", "0", nullptr, "the call that is hit, from 1; 0: at random"},
    {"chance", "f64", "0", "0..1", "with nth = 0: probability that a call is hit"},
    {"count", "u64", "1", nullptr, "largest number of hits, consecutive with nth; 0: unlimited"},
    {"seed", "u64", "1", nullptr, "seed of the random choice"},
    {"status", "string", "E_IO", nullptr, "status of hit calls, by its name without CONSORT_"},
    {"delay_us", "u32", "1000", nullptr, "for what = \"delay\", microseconds of real time"},
};

// The faults that a function allows. A failing quiesce() would leak the plugin.
template <auto kFn, class R>
inline constexpr bool can_fail =
    std::is_same_v<R, consort_status> && !same<kFn, &D::event_fd> && !same<kFn, &T::event_fd> && !same<kFn, &D::arm> &&
    !same<kFn, &T::arm> && !same<kFn, &S::quiesce> && !same<kFn, &consort_plugin::quiesce>;
template <auto kFn>
inline constexpr bool completes = same<kFn, &D::submit> || same<kFn, &T::post>;
template <auto kFn>
inline constexpr bool can_be_short =
    completes<kFn> || same<kFn, &D::poll> || same<kFn, &T::poll> || same<kFn, &S::pop> || same<kFn, &S::drain>;

template <auto kFn, class T, class R, class... A>
constexpr bool fails_as(R (*T::*)(A...)) {
  return can_fail<kFn, R>;
}
struct Known {
  const char *name;
  bool fails, falls_short;
};
#define LAYERS_ONE(Type, f) {#f, fails_as<&Type::f>(&Type::f) || completes<&Type::f>, can_be_short<&Type::f>},
constexpr Known functions[] = {
#define LAYERS_EACH(f, tag) LAYERS_ONE(D, f)
    LAYERS_OF_DRIVER(LAYERS_EACH) LAYERS_OF_DEVICE(LAYERS_EACH) LAYERS_OF_QUEUE(LAYERS_EACH) LAYERS_ONE(D, open)
        LAYERS_ONE(D, close) LAYERS_ONE(D, queue_open) LAYERS_ONE(D, queue_close)
#undef LAYERS_EACH
#define LAYERS_EACH(f, tag) LAYERS_ONE(S, f)
            LAYERS_OF_SCHEDULER(LAYERS_EACH) LAYERS_ONE(S, create) LAYERS_ONE(S, destroy)
#undef LAYERS_EACH
#define LAYERS_EACH(f, tag) LAYERS_ONE(T, f)
                LAYERS_OF_ENDPOINT(LAYERS_EACH)
#undef LAYERS_EACH
#define LAYERS_EACH(f, tag) LAYERS_ONE(consort_interface_ops, f)
                    LAYERS_OF_INTERFACE(LAYERS_EACH)
#undef LAYERS_EACH
#define LAYERS_EACH(f, tag) LAYERS_ONE(consort_filter, f)
                        LAYERS_OF_FILTER(LAYERS_EACH)
#undef LAYERS_EACH
                            LAYERS_ONE(consort_plugin, init) LAYERS_ONE(consort_plugin, quiesce)
                                LAYERS_ONE(consort_plugin, fini)};
#undef LAYERS_ONE

uint64_t scrambled(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

class Faults {
 public:
  static constexpr bool kRemembersClosed = false;
  enum class What { kFail, kShort, kDelay };
  struct Object {
    std::mutex mutex;              // guards the following fields; locked last
    uint64_t in_flight = 0;        // accepted and incomplete operations
    std::vector<uint64_t> spared;  // of these, allocations and frees, which must not fail: the host relies on them
  };

  explicit Faults(const consort_host *h)
      : host_(h),
        plugins_(text_param(h, "plugins")),
        function_(text_param(h, "function")),
        nth_(number("nth")),
        count_(number("count")),
        seed_(number("seed")),
        chance_(std::strtod(text_param(h, "chance"), nullptr)),
        delay_(std::chrono::microseconds(number("delay_us"))) {
    const std::string_view what = text_param(h, "what");
    what_ = what == "short" ? What::kShort : what == "delay" ? What::kDelay : What::kFail;
  }
  consort_status open() {
    const std::string status = text_param(host_, "status");
    for (int32_t s = -1; s >= kLastStatus; --s)
      if (status == kStatuses[-s]) status_ = s;
    if (status_ >= 0)
      return refuse("status = \"" + status + "\" is not an error: use E_IO, E_NOMEM or another of plugin.h");
    if (status_ == CONSORT_E_DEVICE_LOST || status_ == CONSORT_E_PEER_LOST)
      return refuse("status = \"" + status +
                    "\" needs more than a status: use another; the driver sim can lose devices");
    if (function_.empty()) return CONSORT_OK;
    bool known = false, can = what_ == What::kDelay;
    for (const Known &k : functions) {
      if (function_ != k.name) continue;
      known = true;
      can |= what_ == What::kFail ? k.fails : k.falls_short;
    }
    if (!known)
      return refuse("function = \"" + function_ +
                    "\" is in no plugin's table: use one of driver.h, interface.h, scheduler.h or transport.h");
    if (!can)
      return refuse("function = \"" + function_ + "\" cannot " + (what_ == What::kFail ? "fail" : "fall short") +
                    " by its header: use what = \"delay\"");
    return CONSORT_OK;
  }
  bool wants(const consort_plugin &p) const { return plugins_.has(p.name) && (nth_ || chance_ > 0); }
  void end() noexcept {}

  template <auto kFn, class Next, class... A>
  static auto call(Node<Faults> &n, const char *part, Next &&next, A... a) {
    using R = decltype(next(a...));
    Faults &f = n.of.layer;
    if (f.what_ == What::kDelay && !completes<kFn> && f.strikes(n.of, site<kFn>.function))
      std::this_thread::sleep_for(f.delay_);
    if constexpr (can_fail<kFn, R>) {
      if (f.what_ == What::kFail && f.strikes(n.of, site<kFn>.function)) return f.fail(n.of, part, site<kFn>.function);
    }
    if constexpr (completes<kFn>)
      return f.submitted<kFn>(n, next, a...);
    else if constexpr (same<kFn, &D::poll> || same<kFn, &T::poll>)
      return f.polled<kFn>(n, next, a...);
    else if constexpr (same<kFn, &S::pop>) {
      return [&](uint32_t worker, consort_pick *out, uint32_t max) {
        return next(worker, out, f.shorter<kFn>(n, max));
      }(a...);
    } else if constexpr (same<kFn, &S::drain>) {
      return [&](uint64_t epoch, consort_task **out, uint32_t max) {
        return next(epoch, out, f.shorter<kFn>(n, max));
      }(a...);
    } else {
      return next(a...);
    }
  }

  template <auto kFn, class Next, class... A>
  static auto hosted(Wrapped<Faults> &w, Next &&next, A... a) {
    if constexpr (same<kFn, &consort_host::complete>)
      return w.layer.pushed(w, next, a...);
    else
      return next(a...);
  }
  template <auto kFn, class... A>
  static void opened(Node<Faults> &, A...) {}

 private:
  uint64_t number(const char *key) const { return std::strtoull(text_param(host_, key), nullptr, 10); }
  consort_status refuse(const std::string &what) const {
    return host_->fail(host_, CONSORT_E_INVAL, ("faults." + what).c_str());
  }

  // Counts a call of this function and returns whether it is hit. Counters are independent: threads get numbers in any order.
  bool strikes(const Wrapped<Faults> &w, const char *function) noexcept {
    if (!function_.empty() && function_ != function) return false;
    const uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (nth_) {
      if (call < nth_ || (count_ && call - nth_ >= count_)) return false;
    } else {
      if (static_cast<double>(scrambled(seed_ ^ scrambled(call)) >> 11) * 0x1p-53 >= chance_) return false;
      if (count_ && struck_.fetch_add(1, std::memory_order_relaxed) >= count_) return false;
    }
    Text t;
    constexpr const char *verbs[] = {"fails", "falls short", "takes longer"};
    t << kind_name(w.inner->kind) << " \"" << w.inner->name << "\": " << function << " "
      << verbs[static_cast<int>(what_)] << " on purpose (call " << call << ")";
    host_->log(host_, 2, t.c_str());
    return true;
  }
  consort_status fail(const Wrapped<Faults> &w, const char *part, const char *function) const {
    Text t;
    t << "fault injected into " << kind_name(w.inner->kind) << " \"" << w.inner->name << "\", " << (part ? part : "")
      << (part ? "." : "") << function;
    return host_->fail(host_, status_, t.c_str());
  }

  // -- short results: never empty if nothing else would cause progress
  template <auto kFn>
  uint32_t shorter(Node<Faults> &n, uint32_t max) {
    return what_ == What::kShort && max > 1 && strikes(n.of, site<kFn>.function) ? 1 : max;
  }
  template <auto kFn, class Next, class Item>
  uint32_t submitted(Node<Faults> &n, Next &next, const Item *items, uint32_t k) {
    Object &o = n.state;
    if (what_ == What::kDelay && strikes(n.of, site<kFn>.function)) std::this_thread::sleep_for(delay_);
    uint32_t most = k;
    if (what_ == What::kShort && k && strikes(n.of, site<kFn>.function)) {
      const std::lock_guard lock(o.mutex);
      most = o.in_flight ? k / 2 : k;  // with nothing in flight a queue accepts its depth [D-13]
    }
    if (!most) return 0;
    {
      const std::lock_guard lock(o.mutex);  // before the plugin's call: completions may be pushed at once
      for (uint32_t i = 0; i < most; ++i) {
        o.in_flight += counted(items[i]);
        if (spares(items[i])) spare(o, items[i].cookie);
      }
    }
    const uint32_t r = next(items, most);
    const std::lock_guard lock(o.mutex);
    for (uint32_t i = most; i-- > r;) {
      o.in_flight -= counted(items[i]);
      if (spares(items[i])) (void)was_spared(o, items[i].cookie);
    }
    return r;
  }
  template <auto kFn, class Next>
  uint32_t polled(Node<Faults> &n, Next &next, consort_done *out, uint32_t max) {
    const uint32_t r = next(out, shorter<kFn>(n, max));
    for (uint32_t i = 0; i < r && i < max; ++i)
      if (strike(n, out[i]) && i + 1 == r) (void)fail(n.of, nullptr, submitter(n));  // the text belongs to the last one
    return r;
  }
  template <class Next>
  void pushed(Wrapped<Faults> &w, Next &next, uint64_t token, const consort_done *done, uint32_t n) {
    Node<Faults> *node = w.of_token(token);
    if (!node) return next(token, done, n);
    for (uint32_t i = 0; i < n; ++i) {
      consort_done d = done[i];
      if (strike(*node, d)) (void)fail(w, nullptr, submitter(*node));
      next(token, &d, 1u);
    }
  }

  // Changes a completion if it is hit.
  bool strike(Node<Faults> &n, consort_done &d) {
    if (d.cookie == CONSORT_NOTIFIED && n.of.inner->kind == CONSORT_KIND_TRANSPORT) return false;
    {
      const std::lock_guard lock(n.state.mutex);
      n.state.in_flight -= n.state.in_flight != 0;
      if (was_spared(n.state, d.cookie)) return false;
    }
    if (what_ != What::kFail || d.status < 0 || !strikes(n.of, submitter(n))) return false;
    d.status = status_;
    return true;
  }
  static const char *submitter(const Node<Faults> &n) {
    return n.of.inner->kind == CONSORT_KIND_TRANSPORT ? "post" : "submit";
  }
  static uint64_t counted(const consort_op &) { return 1; }
  static uint64_t counted(const consort_msg &m) { return m.kind != CONSORT_MSG_CANCEL; }
  static bool spares(const consort_op &op) { return op.kind == CONSORT_OP_ALLOC || op.kind == CONSORT_OP_FREE; }
  static bool spares(const consort_msg &) { return false; }
  static void spare(Object &o, uint64_t cookie) noexcept try {
    o.spared.push_back(cookie);
  } catch (const std::bad_alloc &) {  // may be hit
  }
  static bool was_spared(Object &o, uint64_t cookie) noexcept {
    const auto at = std::find(o.spared.begin(), o.spared.end(), cookie);
    if (at == o.spared.end()) return false;
    o.spared.erase(at);
    return true;
  }

  const consort_host *const host_;
  const Names plugins_;
  const std::string function_;
  const uint64_t nth_, count_, seed_;
  const double chance_;
  const std::chrono::microseconds delay_;
  What what_ = What::kFail;
  consort_status status_ = CONSORT_OK;
  std::atomic<uint64_t> calls_{0}, struck_{0};  // relaxed: counters
};

constexpr consort_plugin plugin = Plugin<Faults>::table("faults", "makes calls of plugins fail, fall short or take long", params);

}  // namespace
}  // namespace layers

CONSORT_MODULE(faults, LAYER, 0, "faults", "0.1.0", layers::plugin);
