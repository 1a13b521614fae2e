#include "machine/link_benchmark.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/last_error.hpp"
#include "machine/platform.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"

namespace consort {
namespace {

constexpr uint64_t kLeast = 256 << 10, kMost = 16 << 20, kMostExact = 4 << 20;  // of a large copy
constexpr double kLongEnough = 4e6;                       // ns: a copy that takes this long is large enough
constexpr uint64_t kLongestCopy = 10'000'000'000;         // ns: limit for one copy
constexpr int kSamples = 5, kFewRounds = 3, kMostRounds = 9;
constexpr double kCalm = 1.25;                            // spread below which further rounds give no more precision

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

Error failed(const char *doing, consort_status s) {
  const std::string why = error_text();
  return error(s, std::string(doing) + (why.empty() ? " failed (status " + std::to_string(s) + ")" : ": " + why));
}

}  // namespace

LinkBenchmark::LinkBenchmark(Platform &platform, uint32_t from, uint32_t to)
    : platform_(platform),
      link_(platform.topology->link(from, to)),
      from_(from),
      to_(to),
      clock_zero_(platform.clock.now()),
      world_zero_(world_.now()) {
  platform_.benchmark.store(this, std::memory_order_release);  // pairs with the acquire in completed()
}

LinkBenchmark::~LinkBenchmark() {
  if (q_ && !abandoned_) link_.device->ops->queue_close(q_);
  platform_.benchmark.store(nullptr, std::memory_order_release);
  give_back(src_);
  give_back(dst_);
}

uint64_t LinkBenchmark::now() const noexcept { return platform_.virtual_time ? platform_.clock.now() : world_.now(); }

Result<void> LinkBenchmark::take(Block &b, uint32_t space, uint64_t bytes) {
  constexpr uint64_t kPage = 4096;  // non-temporal copies need whole pages
  const Space &s = platform_.topology->spaces()[space];
  const uint64_t granule = std::max<uint64_t>(s.desc.granule, 1);
  bytes = (bytes + granule - 1) / granule * granule;
  clear_error();
  const bool plain = s.desc.flags & CONSORT_SP_CPU;
  const consort_status status = plugin_status(
      s.device->ops->alloc(s.device->dev, space, bytes, plain ? kPage : std::max<uint64_t>(s.desc.align, 1), 0, &b.addr),
      s.device->plugin->manifest->name, "alloc()");
  if (status < 0) return failed("taking memory for it", status);
  b.space = space;
  b.bytes = bytes;
  if (plain) std::memset(reinterpret_cast<void *>(static_cast<uintptr_t>(b.addr.base + b.addr.off)), 1, bytes);
  return {};
}

void LinkBenchmark::give_back(Block &b) noexcept {
  if (b.space == CONSORT_NONE || abandoned_) return;
  const Device &d = *platform_.topology->spaces()[b.space].device;
  d.ops->free(d.dev, b.space, b.addr, b.bytes);
  b.space = CONSORT_NONE;
}

void LinkBenchmark::completed(const consort_done *done, uint32_t n) noexcept try {
  std::lock_guard lock(mutex_);
  pushed_.insert(pushed_.end(), done, done + n);
} catch (const std::bad_alloc &) {  // then this copy never completes, and the link is not measured
}

bool LinkBenchmark::is_done(uint64_t cookie, consort_status *status) noexcept {
  consort_done done[4];
  clear_error();
  const uint32_t n = link_.device->ops->poll(q_, done, 4);
  for (uint32_t i = 0; i < n; ++i)
    if (done[i].cookie == cookie) return *status = done[i].status, true;
  std::lock_guard lock(mutex_);
  for (const consort_done &d : pushed_)
    if (d.cookie == cookie) return *status = d.status, true;
  return false;
}

Result<double> LinkBenchmark::copy(uint64_t bytes, bool back) {
  const consort_driver_ops &ops = *link_.device->ops;
  consort_op op{};
  op.kind = CONSORT_OP_COPY;
  op.codelet = op.impl = CONSORT_NONE;
  op.cookie = ++sent_;
  const Block &src = back ? dst_ : src_, &dst = back ? src_ : dst_;
  op.u.copy = {src.space, dst.space, src.addr, dst.addr, bytes, {1, 1}, {0, 0}, {0, 0}};
  const uint64_t start = now(), limit = world_.now() + kLongestCopy;
  bool sent = false;
  for (uint64_t looks = 0;; ++looks) {
    // With a manual pump the clock that drivers see stands still; advance it with the world's clock.
    if (platform_.manual && !platform_.virtual_time) platform_.clock.advance_to(clock_zero_ + (world_.now() - world_zero_));
    if (!sent) sent = ops.submit(q_, &op, 1) == 1;
    consort_status status = CONSORT_OK;
    if (sent && is_done(op.cookie, &status)) {
      if (status < 0) return failed("a copy over it", status);
      return static_cast<double>(now() - start);
    }
    if (platform_.virtual_time && ops.next_event) {
      const uint64_t next = ops.next_event(q_);
      if (next != CONSORT_NEVER) platform_.clock.advance_to(next);
    }
    if (looks % 64 != 63) continue;
    if (world_.now() > limit) {
      abandoned_ = sent;
      return error(CONSORT_E_TIMEOUT, "a copy of " + std::to_string(bytes) + " bytes was not over after " +
                                          std::to_string(kLongestCopy / 1'000'000'000) + " s");
    }
    sched_yield();
  }
}

Result<void> LinkBenchmark::prepare() {
  const auto &spaces = platform_.topology->spaces();
  consort_queue_desc desc{};
  desc.size = sizeof desc;
  clear_error();
  if (const auto s = link_.device->ops->queue_open(link_.device->dev, CONSORT_NONE, kToken, &desc, &q_); s < 0) {
    q_ = nullptr;
    return failed("opening a queue", s);
  }
  small_ = large_ = 64;
  uint64_t most = platform_.virtual_time ? kMostExact : kMost;
  for (const uint32_t s : {from_, to_}) {
    small_ = std::max(small_, spaces[s].desc.granule);
    if (spaces[s].desc.capacity) most = std::min(most, spaces[s].desc.capacity / 4);
  }
  if (link_.desc.max_run) most = std::min(most, link_.desc.max_run);
  if (most < kLeast) return error(CONSORT_E_NOMEM, "its memories are too small");
  for (large_ = kLeast;; large_ = std::min(large_ * 4, most)) {
    for (Block *b : {&src_, &dst_}) {
      give_back(*b);
      if (auto r = take(*b, b == &src_ ? from_ : to_, large_); !r) return r;
    }
    // Reads of memory that was never written may cost nothing, so write it first.
    if (platform_.topology->link(to_, from_).device == link_.device)
      if (auto r = copy(large_, true); !r) return r.error();
    double fastest = 0;
    for (int i = 0; i < 2; ++i) {
      auto ns = copy(large_);
      if (!ns) return ns.error();
      fastest = i ? std::min(fastest, *ns) : *ns;
    }
    if (fastest >= kLongEnough || large_ >= most) return {};
  }
}

// Estimates bandwidth and latency from a few copies of two sizes.
Result<LinkMeasurement> LinkBenchmark::round() {
  std::vector<double> short_ones, long_ones;
  for (int i = 0; i < (platform_.virtual_time ? 1 : kSamples); ++i)
    for (const bool is_long : {false, true}) {
      auto ns = copy(is_long ? large_ : small_);
      if (!ns) return ns.error();
      (is_long ? long_ones : short_ones).push_back(*ns);
    }
  const double few = median(short_ones), many = median(long_ones);
  LinkMeasurement f;
  f.bytes_per_s = many > few ? static_cast<double>(large_ - small_) * 1e9 / (many - few) : 0;
  f.latency_ns = f.bytes_per_s > 0 ? few - static_cast<double>(small_) * 1e9 / f.bytes_per_s : few;
  return f;
}

Result<LinkMeasurement> LinkBenchmark::measure() {
  if (auto r = prepare(); !r) return r.error();
  std::vector<double> rates, latencies;
  LinkMeasurement found;
  for (int n = 1; n <= kMostRounds; ++n) {
    auto f = round();
    if (!f) return f.error();
    rates.push_back(f->bytes_per_s);
    latencies.push_back(f->latency_ns);
    if (n < kFewRounds) continue;
    found = {median(rates), median(latencies), 0};
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    const size_t tail = sorted.size() / 4;
    const double low = sorted[tail], high = sorted[sorted.size() - 1 - tail];
    found.spread = low > 0 ? high / low : 1e9;
    if (found.spread <= kCalm) break;
  }
  return found;
}

}  // namespace consort
