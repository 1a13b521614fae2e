// device.hpp — one GPU in the process's shared context: memory, kernels, peer devices.
//
// A template over vendor V, whose functions return 0 or an error number (cuda/api.hpp lists them). Lives from open() to close().
// [control] calls come one at a time; `memory_` guards state that they share with ops that allocate.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../streams/queue.hpp"
#include "../streams/table.hpp"
#include "event.hpp"
#include "modules.hpp"
#include "near.hpp"

namespace gpu {

struct Settings {
  std::string options, cache, folders, compiler;
  uint64_t limit = 0;  // bytes of memory per device; 0: all free memory
  uint32_t units = 1, depth = 64;
  int32_t priority = 0;
  bool peers = true, near = true;
};

struct Found {  // a device selected by start()
  int number;   // the vendor's number
  std::string name;
};

template <class V>
class Device;
template <class V>
class Lane;
template <class V>
class Graphs;
template <class V>
class Libraries;

template <class V>
struct Driver {
  static constexpr const char *kName = V::kName;
  const consort_host *host = nullptr;
  V api;
  typename V::Compiler compiler;
  Libraries<V> libraries;
  Settings settings;
  std::vector<Found> devices;
  std::vector<Device<V> *> opened;  // [control]; opened devices, for links between them

  bool by_default = false;  // devices sleep until they get work

  consort_status read();
  consort_status start();
  void wake() noexcept;  // creates the contexts of all opened devices, and the streams of their queues; `waking` held
  std::mutex waking;
  std::string text(const char *key) const {
    const char *v = host->param(host, key);
    return v ? v : "";
  }
  consort_status fail(consort_status s, const std::string &words) const noexcept {
    return host->fail(host, s, (std::string(kName) + ": " + words).c_str());
  }
  uint32_t count() const noexcept { return static_cast<uint32_t>(devices.size()); }
  std::string place(uint32_t index) const { return api.bus_id(devices[index].number); }
};

// Makes the context current on this thread for the object's lifetime, then restores the previous one.
template <class V>
class Current {
 public:
  // for_good: for destruction, which must not leak: retries once on an error.
  explicit Current(const Device<V> &d, bool for_good = false) noexcept : api_(d.api), error_(enter(d, for_good)) {}
  ~Current() {
    if (!error_) api_.leave(before_);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;
  int error() const noexcept { return error_; }

 private:
  int enter(const Device<V> &d, bool for_good) noexcept {
    const int e = d.api.enter(d.handle, &before_);
    return e && for_good ? d.api.enter(d.handle, &before_) : e;
  }
  const V &api_;
  typename V::Before before_{};
  const int error_;
};

template <class V>
class Device : public streams::Owner<Lane<V>> {
 public:
  using Base = streams::Owner<Lane<V>>;
  using Base::fail;

  Device(Driver<V> &d, uint32_t i, uint64_t t)
      : Base(d.host, V::kName, d.devices[i].name, t), driver(d), api(d.api), index(i), number(d.devices[i].number), events(d.api),
        graphs(std::make_unique<Graphs<V>>()) {}
  ~Device();
  consort_status open();
  consort_status wake() noexcept;  // creates the contexts of all opened devices; may block. < 0: this device is lost

  consort_status space(uint32_t i, consort_space_desc *out);
  consort_status unit(uint32_t i, consort_unit_desc *out) const;
  consort_status link(const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out);
  consort_status alloc(uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out);
  void free(uint32_t space, consort_addr, uint64_t bytes);
  consort_status attach(uint32_t space, consort_addr, uint64_t bytes, consort_addr *local);
  void detach(uint32_t space, consort_addr local);
  consort_status load(const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code);

  // Allocates on a stream, with the context current; counts against the capacity.
  consort_status take(uint64_t bytes, typename V::Stream, uint64_t *at);
  void give(uint64_t at, uint64_t bytes, typename V::Stream) noexcept;
  // Converts a vendor error to a status with a text; marks the device lost if the error means that. Mutex not held.
  consort_status failed(int error, const std::string &what);
  // The device that owns a space: this one or a peer; null: no device of this driver.
  Device *owner_of(uint32_t space) const noexcept {
    for (Device *d : driver.opened)
      if (d->space_ == space) return d;
    return nullptr;
  }
  // The lane of a unit that owns a stream, null if closed.
  Lane<V> *lane_of(void *stream) {
    const std::lock_guard lock(lanes_mutex_);
    const auto at = lanes_.find(stream);
    return at == lanes_.end() ? nullptr : at->second;
  }
  void enlist(void *stream, Lane<V> *lane) {  // null: removes it
    const std::lock_guard lock(lanes_mutex_);
    if (lane) lanes_[stream] = lane;
    else lanes_.erase(stream);
  }
  bool owns(uint32_t space) const noexcept { return space == space_; }
  uint32_t depth() const noexcept { return driver.settings.depth; }
  // The host's time of a completed timed event. 0: unknown.
  uint64_t time_of(typename V::Event) noexcept;

  Driver<V> &driver;
  const V &api;
  const uint32_t index;
  const int number;
  typename V::Handle handle{};  // the context, in the form that enter() needs
  bool entered = false;         // handle is valid
  Events<V> events;
  const std::unique_ptr<Graphs<V>> graphs;  // capture.hpp

 private:
  static constexpr uint64_t kGranule = 512, kAlign = 256;
  static uint64_t rounded(uint64_t bytes) noexcept { return (bytes + kGranule - 1) / kGranule * kGranule; }
  consort_status alloc_pinned(uint64_t bytes, uint32_t flags, consort_addr *out);
  static constexpr uint64_t kPatientNs = 2'000'000, kBriefNs = 50'000;
  friend Driver<V>;
  consort_status create_context();
  void look_at_clock(uint64_t patience) noexcept;
  bool reaches(Device &other);
  bool map(Device &other);

  std::string space_name_, arch_, key_;
  Near near_;
  uint32_t space_ = CONSORT_NONE;
  uint64_t capacity_ = 0, used_ = 0;
  uint64_t hosts_ = 0;                     // bit set of host memory spaces
  typename V::Pool pool_{};
  bool pooled_ = false;
  typename V::Stream control_{}, clock_{};  // for [control] calls; for clock readings
  typename V::Event anchor_{};              // recorded at anchor_time_ on the host's clock
  uint64_t anchor_time_ = 0;
  struct Pinned { bool registered; uint32_t holders; };  // registered: memory of the application
  std::map<uint64_t, Pinned> pinned_;       // by address
  std::map<Device *, bool> reach_;
  std::mutex memory_;                       // guards used_, pinned_; leaf
  std::unique_ptr<Modules<V>> modules_;
  std::map<void *, Lane<V> *> lanes_;       // lanes of units, by stream
  std::mutex lanes_mutex_;                  // leaf
};

}  // namespace gpu
