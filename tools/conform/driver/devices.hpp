// devices.hpp — the driver under judgement with all its devices opened and asked, in the order that driver.h lays down.
//
// Beside the driver's own spaces there are two of the host's memory, as nodes of a machine, and one of somebody whom no
// driver knows. Owned by one case and one thread; what it answers may be read by all.
#pragma once
#include <consort/driver.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "conform/case.hpp"
#include "conform/plugin.hpp"

namespace conform {

class DeviceQueue;

class Devices {
 public:
  struct Space {
    consort_space_desc desc;
    std::string name, domain;
    uint32_t device;                             // CONSORT_NONE: it is none of the driver's
    bool is_own() const { return device != CONSORT_NONE; }
    bool is_plain() const;                       // the CPU may load and store there
  };
  struct Unit {
    consort_unit_desc desc;
    std::string klass, arch;
    uint32_t device, index;                      // of the device, as queue_open takes it
  };
  struct Link {
    consort_link_desc desc;
    uint32_t device, src, dst;
    uint64_t grain() const { return desc.min_align ? desc.min_align : 1; }
    uint64_t longest() const { return desc.max_run ? desc.max_run : UINT64_MAX; }
  };
  struct Device {
    void *handle = nullptr;
    uint64_t token = 0;
    uint32_t nspaces = 0, nunits = 0;
  };
  static constexpr uint32_t kHost = 0, kOtherNode = 1;

  Devices(Trial &, Plugin &);                    // no device: the case is skipped
  ~Devices();
  Devices(const Devices &) = delete;
  Devices &operator=(const Devices &) = delete;

  Trial &trial() { return t_; }
  Plugin &plugin() { return plugin_; }
  const consort_driver_ops &ops() const { return ops_; }
  const std::vector<Device> &all() const { return devices_; }
  const std::vector<Space> &spaces() const { return spaces_; }
  const std::vector<Unit> &units() const { return units_; }
  const std::vector<Link> &links() const { return links_; }
  uint32_t stranger() const { return static_cast<uint32_t>(spaces_.size()) - 1; }

  // The k-th answer of a device once more, into memory that ends where it says.
  consort_status ask_space(uint32_t device, uint32_t i, uint32_t id, consort_space_desc *);
  consort_status ask_unit(uint32_t device, uint32_t i, uint32_t id, consort_unit_desc *);
  consort_status ask_link(uint32_t device, const Space &src, const Space &dst, consort_link_desc *);

  // The first device's that has this path; nullptr: none.
  const Link *find_link(uint32_t src, uint32_t dst) const;
  // Can the case put bytes there and get them back?
  bool is_within_reach(uint32_t space) const;
  // At most so many, by chance; both ends within reach. None: the case is skipped.
  std::vector<Link> some_links(size_t most);
  // Spaces of its own that can be written and read. None: the case is skipped.
  std::vector<uint32_t> own_spaces();
  // A queue for copies that the kit itself needs: what is in a space before and after.
  DeviceQueue &carrier(uint32_t device);
  uint64_t next_token() { return ++tokens_; }

  // -- queues that are open, for a clock that stands still ------------------------------------------------------------
  void opened(DeviceQueue *q) { open_.push_back(q); }
  void closed(DeviceQueue *q) { std::erase(open_, q); }
  bool step_clock();                             // once all are polled, to their next event; false: there is none

 private:
  void open_all();
  void ask_all();

  Trial &t_;
  Plugin &plugin_;
  const consort_driver_ops ops_;
  uint64_t tokens_ = 0x1000;
  std::vector<Device> devices_;
  std::vector<Space> spaces_;
  std::vector<Unit> units_;
  std::vector<Link> links_;
  std::vector<DeviceQueue *> open_;
  std::vector<std::unique_ptr<DeviceQueue>> carriers_;
};

}  // namespace conform
