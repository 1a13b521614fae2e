// device_life.hpp — a GPU from open() to close(), and its descriptions of spaces, units and links.
#pragma once
#include "../streams/settings.hpp"
#include "capture.hpp"

#include <functional>

namespace gpu {

template <class V>
consort_status Device<V>::failed(int error, const std::string &what) {
  const consort_status s = V::status_of(error);
  if (V::means_lost(error) && !this->is_lost()) this->mark_lost_and_report();
  return fail(s, what + ": " + api.words(error));
}

// All that needs no context. A device that is used by default sleeps then.
template <class V>
consort_status Device<V>::open() {
  key_ = api.key(number);
  arch_ = std::string(V::kName) + "/" + api.arch(number) + "/" + std::to_string(api.processors(number)) + V::kProcessor;
  space_name_ = V::kName + std::to_string(index) + ":" + (api.integrated(number) ? "ram" : "hbm");
  if (driver.settings.near) near_ = near(api.bus_id(number));
  modules_ = std::make_unique<Modules<V>>(*this);
  if (driver.by_default) {
    if (const int e = api.total_memory(number, &capacity_)) return failed(e, "cannot query its memory size");
    if (driver.settings.limit && driver.settings.limit < capacity_) capacity_ = driver.settings.limit;
    this->asleep.store(true, std::memory_order_relaxed);
  } else if (const consort_status s = create_context(); s < 0) {
    return s;
  }
  driver.opened.push_back(this);
  return CONSORT_OK;
}

template <class V>
consort_status Device<V>::wake() noexcept {
  return this->wake_by(driver.waking, [&] { return driver.wake(), CONSORT_OK; });
}

// Devices wake together: a device that maps another one's memory needs both contexts.
template <class V>
void Driver<V>::wake() noexcept {
  const auto each = [&](auto step) {
    for (Device<V> *d : opened)
      if (!d->is_lost() && d->attempt([&] { return step(*d); }) < 0) d->give_up();
  };
  each([](Device<V> &d) { return d.create_context(); });
  each([](Device<V> &d) {
    for (auto &[other, can] : d.reach_) can = can && other->entered && d.map(*other);
    return CONSORT_OK;
  });
  each([](Device<V> &d) -> consort_status {
    for (auto *q : d.queues)
      if (const consort_status s = q->lane().open_streams(); s < 0) return s;
    return CONSORT_OK;
  });
  for (Device<V> *d : opened) d->asleep.store(false, std::memory_order_release);
}

template <class V>
consort_status Device<V>::create_context() {
  if (const int e = api.retain(number, &handle)) return failed(e, "cannot create a context");
  entered = true;
  const Current<V> current(*this);
  if (const int e = current.error()) return failed(e, "cannot make its context current");
  uint64_t free_now = 0, all = 0;
  if (const int e = api.memory(&free_now, &all)) return failed(e, "cannot query its memory size");
  const uint64_t limit = driver.settings.limit;
  capacity_ = limit && limit < free_now ? limit : free_now;
  if (const int e = api.stream_create(&control_, api.greatest_priority())) return failed(e, "cannot create a stream");
  if (const int e = api.stream_create(&clock_, api.greatest_priority())) return failed(e, "cannot create a stream");
  pooled_ = api.pool_create(&pool_, number, capacity_) == 0;
  if (const int e = api.event_create(&anchor_, true)) return failed(e, "cannot create an event");
  look_at_clock(kPatientNs);
  return CONSORT_OK;
}

template <class V>
Device<V>::~Device() {
  std::erase(driver.opened, this);
  if (!entered) return;
  const Current<V> current(*this, true);
  if (!current.error()) {
    if (control_ && !this->is_lost()) api.stream_sync(control_);  // pending frees run there
    for (const auto &[at, block] : pinned_) {
      if (block.registered) api.host_unregister(at);
      else api.host_free(at);
    }
    graphs->clear();
    modules_.reset();
    if (anchor_) api.event_destroy(anchor_);
    events.clear();
    if (pooled_) api.pool_destroy(pool_);
    if (clock_) api.stream_destroy(clock_);
    if (control_) api.stream_destroy(control_);
  }
  api.release(number, handle);
}

// Reads both clocks at the same time, by an event on an otherwise empty stream. If the device takes longer than `patience`, it tries
// again later.
template <class V>
void Device<V>::look_at_clock(uint64_t patience) noexcept {
  anchor_time_ = 0;
  const uint64_t before = this->host->now(this->host);
  if (api.event_record(anchor_, clock_)) return;
  uint64_t after = before;
  int e = V::kNotReady;
  while (e == V::kNotReady && after - before < patience) {
    e = api.event_query(anchor_);
    after = this->host->now(this->host);
  }
  if (!e) anchor_time_ = before + (after - before) / 2;
}

// Times between two events are floats of milliseconds, so the anchor must be recent.
template <class V>
uint64_t Device<V>::time_of(typename V::Event event) noexcept {
  constexpr uint64_t kOld = 2'000'000'000;
  float ms = 0;
  const bool known = anchor_time_ && api.elapsed(&ms, anchor_, event) == 0;
  const uint64_t at = known ? anchor_time_ + static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(ms) * 1e6)) : 0;
  if (const uint64_t now = this->host->now(this->host); !anchor_time_ || now - anchor_time_ > kOld) look_at_clock(kBriefNs);
  return at;
}

template <class V>
consort_status Device<V>::space(uint32_t i, consort_space_desc *out) {
  if (i > 0) return CONSORT_E_INVAL;
  space_ = out->id;
  consort_space_desc d = *out;
  d.flags = 0;
  d.numa = near_.numa;
  d.name = space_name_.c_str();
  d.domain = V::kName;
  d.domain_key = std::hash<std::string>{}(key_);
  d.capacity = capacity_;
  d.granule = kGranule;
  d.align = kAlign;
  streams::answer(out, d);
  return CONSORT_OK;
}

template <class V>
consort_status Device<V>::unit(uint32_t i, consort_unit_desc *out) const {
  if (i >= driver.settings.units) return CONSORT_E_INVAL;
  consort_unit_desc d = *out;
  d.flags = 0;
  d.space = space_;
  d.depth = depth();
  d.numa = near_.numa;
  d.klass = V::kName;
  d.arch = arch_.c_str();
  d.cpuset = near_.cpus.empty() ? nullptr : near_.cpus.data();
  d.cpuset_words = static_cast<uint32_t>(near_.cpus.size());
  d.reserved = 0;
  streams::answer(out, d);
  return CONSORT_OK;
}

// Queries and enables peer access once; it lasts until both devices are closed. Sleeping devices enable it when they wake.
template <class V>
bool Device<V>::reaches(Device &other) {
  const auto known = reach_.find(&other);
  if (known != reach_.end()) return known->second;
  bool can = driver.settings.peers && api.can_access_peer(number, other.number);
  if (can && !this->is_asleep()) can = map(other);
  return reach_[&other] = can;
}

template <class V>
bool Device<V>::map(Device &other) {
  const Current<V> current(*this);
  bool can = !current.error() && api.enable_peer(number, other.number, other.handle) == 0;
  // Memory of a pool is accessible only to its owner until the pool is shared.
  if (can && other.pooled_) can = api.pool_share(other.pool_, number) == 0;
  if (!can) this->warn("the memory of \"" + driver.devices[other.index].name + "\" is reported as accessible, but cannot be mapped: copies go over the host");
  return can;
}

// These figures apply until the link is measured.
template <class V>
consort_status Device<V>::link(const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out) {
  for (const consort_space_desc *s : {src, dst})
    if (streams::is_host_memory(s) && s->id < 64) hosts_ |= uint64_t{1} << s->id;
  const bool from = src->id == space_, to = dst->id == space_;
  if (!from && !to) return CONSORT_E_UNSUPPORTED;
  consort_link_desc d{};
  if (from && to) {
    d.bytes_per_s = 500'000'000'000;
    d.latency_ns = 3'000;
  } else if (streams::is_host_memory(from ? dst : src)) {
    d.bytes_per_s = 12'000'000'000;
    d.latency_ns = 8'000;
  } else {
    Device *other = from ? owner_of(dst->id) : nullptr;  // the source device copies
    if (!other || !reaches(*other)) return CONSORT_E_UNSUPPORTED;
    d.bytes_per_s = 20'000'000'000;
    d.latency_ns = 8'000;
  }
  d.size = out->size;
  d.flags = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC;
  d.engines = 1;
  d.max_run = UINT64_MAX;
  d.min_align = 1;
  d.bounce_space = CONSORT_NONE;
  streams::answer(out, d);
  return CONSORT_OK;
}

template <class V>
consort_status Device<V>::load(const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) {
  if (const consort_status s = wake(); s < 0) return s;
  const Current<V> current(*this);
  if (const int e = current.error()) return failed(e, "cannot make its context current");
  std::string why;
  const Code<V> *c = nullptr;
  const consort_status s = modules_->load(format ? format : V::kSource, text, n, entry ? entry : "", &c, &why);
  if (s < 0) return fail(s, why);
  *code = reinterpret_cast<uint64_t>(c);
  return CONSORT_OK;
}

}  // namespace gpu
