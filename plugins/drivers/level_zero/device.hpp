// device.hpp — one Level Zero device: memory, engines, events, modules.
//
// Lives from open() to close(). [control] calls come one at a time. All devices of a vendor's driver share one context,
// so that they can access one another's memory if the hardware allows it.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../streams/queue.hpp"
#include "../streams/table.hpp"
#include "events.hpp"
#include "modules.hpp"
#include "ze.hpp"

namespace level_zero {

struct Settings {
  std::string options, cache, folders;
  uint64_t limit = 0;  // bytes of memory per device; 0: all
  uint32_t units = 1, depth = 16, copy_engines = 1;
  bool shared = false;  // memory that migrates between host and device
};

struct Found {  // a device selected by init()
  ze_driver_handle_t driver;
  ze_device_handle_t device;
  std::string name;
};

class Device;

struct Driver {
  static constexpr const char *kName = "level_zero";
  const consort_host *host;
  Api api;
  Settings settings;
  std::vector<Found> devices;
  bool by_default = false;  // devices sleep until they get work
  std::mutex waking;

  ~Driver();
  consort_status read();   // reads the settings
  consort_status start();  // opens the library, selects devices
  std::string text(const char *key) const;
  uint32_t count() const noexcept { return static_cast<uint32_t>(devices.size()); }
  std::string place(uint32_t index) const;  // on the bus; "": unknown

  // Created at the first call. [control], or under `waking`
  ze_result_t context_of(ze_driver_handle_t, ze_context_handle_t *out);
  std::map<ze_driver_handle_t, ze_context_handle_t> contexts;
  std::vector<Device *> open_devices;  // [control]
};

struct Engines {  // one kind of engine: a command queue group
  uint32_t ordinal = 0, count = 1;
  uint64_t pattern = 1;  // bytes of the largest pattern that fills memory
};

class Lane;

class Device : public streams::Owner<Lane> {
 public:
  Device(Driver &, uint32_t index, uint64_t token);
  ~Device();
  consort_status open();
  consort_status wake() noexcept;  // creates the context; may block. < 0: the device is lost

  consort_status space(uint32_t i, consort_space_desc *out);
  consort_status unit(uint32_t i, consort_unit_desc *out) const;
  consort_status link(const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out);
  consort_status alloc(uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out);
  void free(uint32_t space, consort_addr, uint64_t bytes);
  consort_status attach(uint32_t space, consort_addr, uint64_t bytes, consort_addr *local);  // only memory of the context
  void detach(uint32_t, consort_addr) noexcept {}
  consort_status load(const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code);

  uint32_t depth() const noexcept { return driver.settings.depth; }
  bool owns(uint32_t space) const noexcept { return space == space_; }
  bool reaches(uint32_t space) const noexcept { return owns(space) || (space < 64 && (reached_.load(std::memory_order_relaxed) >> space & 1)); }
  // Converts the device's clock to the host's.
  uint64_t host_time(uint64_t ticks) noexcept;

  Driver &driver;
  const Api &api;
  const uint32_t index;
  ze_device_handle_t id;
  ze_context_handle_t context = nullptr;
  ze_device_properties_t properties;
  ze_device_compute_properties_t compute;
  Engines units, copies;
  std::unique_ptr<Events> events;

 private:
  consort_status create_context();
  consort_status engines();
  ze_result_t fill_zero(void *p, uint64_t bytes) noexcept;
  consort_status refuse_memory(const std::string &what, ze_result_t e);
  uint64_t rounded(uint64_t bytes) const noexcept { return (bytes + kGranule - 1) / kGranule * kGranule; }

  static constexpr uint64_t kGranule = 256, kLargestAlign = 2 << 20;
  std::string space_name_, arch_;
  uint32_t space_ = CONSORT_NONE;
  uint64_t capacity_ = 0, used_ = 0;
  bool unified_ = false;
  uint64_t hosts_ = 0;                     // bit set of host memory spaces
  std::atomic<uint64_t> reached_{0};       // those, and peers' spaces that its engines can access. Set by link(), before any op; relaxed
  ze_command_list_handle_t control_ = nullptr;  // for [control] calls, which wait for its commands
  std::map<uint64_t, uint64_t> pinned_;    // bytes, by address
  std::mutex memory_;                      // guards used_, pinned_; leaf
  std::unique_ptr<Modules> modules_;
  std::mutex clock_;                       // leaf
  uint64_t seen_host_ = 0, seen_ticks_ = 0;  // read together
};

}  // namespace level_zero
