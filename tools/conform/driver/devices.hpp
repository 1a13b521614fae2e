// devices.hpp — the driver under test with all its devices opened and queried, in the order that driver.h prescribes.
//
// In addition to the driver's own spaces there are two of host memory, as NUMA nodes of a machine, and one of an
// unknown driver. Owned by one case and one thread; its answers may be read by all.
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
    uint32_t device;                             // CONSORT_NONE: not of this driver
    bool is_own() const { return device != CONSORT_NONE; }
    bool is_plain() const;                       // the CPU may load and store there
  };
  struct Unit {
    consort_unit_desc desc;
    std::string klass, arch;
    uint32_t device, index;                      // index: argument of queue_open
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

  Devices(Trial &, Plugin &);                    // without a device the case is skipped
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

  // Repeats the k-th query of a device, into memory of exactly the size that it reports.
  consort_status ask_space(uint32_t device, uint32_t i, uint32_t id, consort_space_desc *);
  consort_status ask_unit(uint32_t device, uint32_t i, uint32_t id, consort_unit_desc *);
  consort_status ask_link(uint32_t device, const Space &src, const Space &dst, consort_link_desc *);

  // Returns the path of the first device that has it, or nullptr.
  const Link *find_link(uint32_t src, uint32_t dst) const;
  // Returns whether the case can write bytes there and read them back.
  bool is_within_reach(uint32_t space) const;
  // Returns at most `most` random links whose ends are within reach. Without any the case is skipped.
  std::vector<Link> some_links(size_t most);
  // Returns the driver's own spaces that can be written and read. Without any the case is skipped.
  std::vector<uint32_t> own_spaces();
  // A queue for the kit's own copies: to set and read the contents of a space.
  DeviceQueue &carrier(uint32_t device);
  uint64_t next_token() { return ++tokens_; }

  // -- open queues, for a clock that stands still
  // ----------------------------------------------------------------------
  void opened(DeviceQueue *q) { open_.push_back(q); }
  void closed(DeviceQueue *q) { std::erase(open_, q); }
  bool step_clock();                             // after all are polled: advances to their next event; false: there is none

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
