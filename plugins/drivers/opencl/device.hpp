// device.hpp — one OpenCL device in its own context: memory, programs.
//
// Lives from open() to close(). [control] calls come one at a time.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../streams/queue.hpp"
#include "../streams/table.hpp"
#include "cl.hpp"
#include "programs.hpp"

namespace opencl {

struct Settings {
  std::string options, cache, folders;
  uint64_t limit = 0;  // bytes of memory per device; 0: all
  uint32_t units = 1, depth = 16;
  bool profiling = true, any_order = true;
};

struct Found {  // a device selected by init()
  cl_platform_id platform;
  cl_device_id device;
  std::string name;
};

struct Driver {
  static constexpr const char *kName = "opencl";
  const consort_host *host;
  Api api;
  Settings settings;
  std::vector<Found> devices;
  bool by_default = false;  // devices sleep until they get work
  std::mutex waking;

  consort_status read();   // reads the settings
  consort_status start();  // opens the library, selects devices
  std::string text(const char *key) const;
  uint32_t count() const noexcept { return static_cast<uint32_t>(devices.size()); }
  std::string place(uint32_t index) const;  // on the bus; "": unknown
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
  consort_status attach(uint32_t space, consort_addr, uint64_t bytes, consort_addr *local);  // only a buffer of the application
  void detach(uint32_t space, consort_addr local);
  consort_status load(const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code);

  uint32_t depth() const noexcept { return driver.settings.depth; }
  bool owns(uint32_t space) const noexcept { return space == space_; }

  Driver &driver;
  const Api &api;
  const uint32_t index;
  cl_device_id id;
  cl_context context = nullptr;
  uint64_t base_align = 128;

 private:
  consort_status create_context();
  struct Pinned { cl_mem mem; uint64_t bytes; };
  consort_status alloc_pinned(uint64_t bytes, uint32_t flags, consort_addr *out);
  uint64_t rounded(uint64_t bytes) const noexcept;

  std::string space_name_, arch_;
  uint32_t space_ = CONSORT_NONE;
  uint64_t capacity_ = 0, largest_ = 0, used_ = 0;
  bool unified_ = false;
  uint64_t hosts_ = 0;                      // bit set of host memory spaces
  cl_command_queue control_ = nullptr;      // for [control] calls
  std::map<uint64_t, Pinned> pinned_;       // by address
  std::mutex memory_;                       // guards used_, pinned_; leaf
  std::unique_ptr<Programs> programs_;
};

}  // namespace opencl
