// The room machine: spaces, units and links as drivers report them, measured speeds of links, routes, teams, cores, and
// coherence as a function of events. It includes plugin and base; task and above use it. Start with topology.hpp, then
// route.hpp and coherence.hpp.
//
// topology.hpp — the machine as its drivers report it: devices, their spaces and units, and the links between spaces.
//
// Built once at the start, by asking each driver in the order that driver.h prescribes. Immutable afterwards, so any
// thread may read it. Owns the open devices and closes them on destruction. Device kinds are opaque: a unit class is a
// string and a bit.
#pragma once
#include <consort/consort.h>
#include <consort/driver.h>
#include <consort/handles.h>
#include <consort/scheduler.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "machine/team.hpp"

namespace consort {

struct Log;
struct Plugin;

struct Device {
  Plugin *plugin;
  const consort_driver_ops *ops;
  void *dev;
  uint32_t index;                     // within the driver
  uint32_t number;                    // within the runtime
  bool open = false;
  mutable std::mutex loading;         // held around [load] calls; leaf
  const consort_handles *handles = nullptr;  // the driver's extension, with all of its functions
};

struct Space {
  consort_space_desc desc;            // its strings belong to the driver
  Device *device;
};

struct Unit {
  consort_unit_desc desc;
  Device *device;
  uint32_t klass;                     // bit of `where`
  uint32_t index;                     // within the device
  uint64_t reach = 0;                 // bit s: code on this unit may load and store in space s
  std::string name;                   // "cpu3"
  std::vector<uint64_t> cpuset;
};

struct Link {
  Device *device = nullptr;           // nullptr: no direct path
  consort_link_desc desc{};           // bandwidth and latency: the figures in use
  uint64_t told_bytes_per_s = 0;      // the driver's figure
  uint32_t told_latency_ns = 0;
  uint32_t source = CONSORT_LINK_TOLD;
};

class Topology {
 public:
  static constexpr uint32_t kMaxSpaces = 62, kMaxClasses = 64;  // two of the 64 numbers stand for none and many (data_state)

  // device_cores: for each unit of a device one core of the host runs no tasks, and is that of the unit's thread.
  static Result<std::unique_ptr<Topology>> open(const std::vector<Plugin *> &drivers, const Log &, bool device_cores = false);
  Topology() = default;
  Topology(const Topology &) = delete;
  Topology &operator=(const Topology &) = delete;
  ~Topology();

  const std::vector<Space> &spaces() const noexcept { return spaces_; }
  const char *space_name(uint32_t space) const noexcept { return spaces_[space].desc.name; }
  const std::vector<Unit> &units() const noexcept { return units_; }
  const std::vector<std::unique_ptr<Device>> &devices() const noexcept { return devices_; }
  const std::vector<Team> &teams() const noexcept { return teams_; }
  const Team *team(uint32_t id) const noexcept {                       // nullptr: no such team
    const size_t i = id - units_.size();
    return id >= units_.size() && i < teams_.size() ? &teams_[i] : nullptr;
  }
  void set_teams(std::vector<Team>);                                   // at the start, before any reader
  const std::vector<const char *> &classes() const noexcept { return classes_; }
  bool takes_text(uint32_t klass) const noexcept;                      // its units run more than host functions
  const Link &link(uint32_t src, uint32_t dst) const noexcept { return links_[src * spaces_.size() + dst]; }
  // Replaces the driver's figures of a link by measured ones. At the start, before any reader.
  void believe(uint32_t src, uint32_t dst, double bytes_per_s, double latency_ns, uint32_t source);
  // Sets what policies see of a route over several links, and of links with measured figures. At the start, before any
  // reader.
  void show_way(uint32_t src, uint32_t dst, consort_hop hop) { hops_[src * spaces_.size() + dst] = hop; }
  std::string offer(const Plugin &driver) const;                       // "1 device, 2 spaces, 4 units", for the log
  std::string count_units() const;                                     // "4 a, 2 b" by class, for the log
  uint32_t home() const noexcept { return home_; }                     // space of the application's own memory
  const consort_topology *snapshot() const noexcept { return &snapshot_; }
  int class_bit(std::string_view klass) const noexcept;                // -1: no unit of that class
  uint64_t lone_classes() const noexcept { return lone_classes_; }     // bits of the classes with one unit
  // The class whose functions units of this class run; "": its own.
  const std::string &runs(uint32_t klass) const noexcept { return runs_[klass]; }
  // Held around driver functions that must be called by one thread at a time ([control]), once tasks may run; leaf.
  std::mutex &control() const noexcept { return control_; }

 private:
  Result<void> open_devices(const std::vector<Plugin *> &, const Log &);
  Result<void> ask_spaces();
  void ask_links();
  Result<void> ask_units();
  void set_cores_aside();
  size_t core_for(const Unit &of_device) const noexcept;
  void number_units();
  void measure_reach();
  void freeze();

  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<Space> spaces_;
  std::vector<Unit> units_;
  std::vector<Link> links_;
  std::vector<const char *> classes_;
  std::vector<std::string> runs_;     // by class
  uint32_t home_ = 0;
  uint64_t lone_classes_ = 0;
  std::vector<consort_worker> workers_;
  std::vector<consort_hop> hops_;
  std::vector<Team> teams_;
  std::vector<consort_team> shown_teams_;
  consort_topology snapshot_{};
  mutable std::mutex control_;
};

}  // namespace consort
