#include "machine/topology.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/last_error.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"

namespace consort {
namespace {

Error driver_error(const Plugin &plugin, consort_status status, const char *doing) {
  const std::string said = error_text();
  std::string text = Host::of(plugin.host).place_of(status, said);
  text += "driver '" + std::string(plugin.manifest->name) + "' failed while " + doing;
  text += said.empty() ? " (status " + std::to_string(status) + ", no reason given)" : ": " + said;
  return error(status < 0 ? status : CONSORT_E_INTERNAL, text);
}

}  // namespace

Result<std::unique_ptr<Topology>> Topology::open(const std::vector<Plugin *> &drivers, const Log &log, bool device_cores) {
  auto topology = std::make_unique<Topology>();
  if (auto r = topology->open_devices(drivers, log); !r) return r.error();
  if (auto r = topology->ask_spaces(); !r) return r.error();
  topology->ask_links();
  if (auto r = topology->ask_units(); !r) return r.error();
  if (device_cores) topology->set_cores_aside();
  topology->measure_reach();
  topology->freeze();
  return topology;
}

Topology::~Topology() {
  for (auto it = devices_.rbegin(); it != devices_.rend(); ++it)
    if ((*it)->open) (*it)->ops->close((*it)->dev);
}

std::string Topology::offer(const Plugin &driver) const {
  const auto count = [&](const auto &list, auto device_of, const char *what) {
    const auto n =
        std::count_if(list.begin(), list.end(), [&](const auto &x) { return device_of(x)->plugin == &driver; });
    return std::to_string(n) + what + (n == 1 ? "" : "s");
  };
  return count(devices_, [](const auto &d) { return d.get(); }, " device") + ", " +
         count(spaces_, [](const Space &s) { return s.device; }, " space") + ", " +
         count(units_, [](const Unit &u) { return u.device; }, " unit");
}

std::string Topology::count_units() const {
  std::string all;
  for (size_t k = 0; k < classes_.size(); ++k)
    all += (all.empty() ? "" : ", ") +
           std::to_string(std::count_if(units_.begin(), units_.end(), [&](const Unit &u) { return u.klass == k; })) + " " +
           classes_[k];
  return all;
}

Result<void> Topology::open_devices(const std::vector<Plugin *> &drivers, const Log &log) {
  for (Plugin *plugin : drivers) {
    const consort_driver_ops *ops = plugin->driver();
    const uint32_t n = ops->count(plugin->self);
    for (uint32_t i = 0; i < n; ++i) {
      if (!plugin->uses(i)) continue;
      // stored first, so that an open device always has an owner
      devices_.emplace_back(new Device{plugin, ops, nullptr, i, static_cast<uint32_t>(devices_.size()), false, {}});
      Device &device = *devices_.back();
      clear_error();
      const consort_status s =
          plugin_status(ops->open(plugin->self, i, devices_.size(), &device.dev), plugin->manifest->name, "open()");
      if (s < 0) {
        devices_.pop_back();
        if (plugin->by_default) {  // no setting asks for it: the program runs without it
          log.write(kLogWarn, driver_error(*plugin, s, "opening its device").text + "; it is not used");
          continue;
        }
        return driver_error(*plugin, s, "opening its device");
      }
      device.open = true;
      if (const auto get = plugin->manifest->get) {
        const auto *h = static_cast<const consort_handles *>(get(plugin->self, CONSORT_HANDLES_ID));
        if (h && CONSORT_HAS_FN(h, consort_handles, handle) && CONSORT_HAS_FN(h, consort_handles, symbol) &&
            CONSORT_HAS_FN(h, consort_handles, check))
          device.handles = h;
      }
    }
  }
  return {};
}

Result<void> Topology::ask_spaces() {
  for (auto &device : devices_) {
    for (uint32_t i = 0;; ++i) {
      Space space{{}, device.get()};
      space.desc.size = sizeof space.desc;
      space.desc.id = static_cast<uint32_t>(spaces_.size());
      space.desc.numa = -1;
      clear_error();
      const consort_status s =
          plugin_status(device->ops->space(device->dev, i, &space.desc), device->plugin->manifest->name, "space()");
      if (s == CONSORT_E_INVAL) break;
      if (s < 0) return driver_error(*device->plugin, s, "describing its memory");
      space.desc.id = static_cast<uint32_t>(spaces_.size());
      if (!space.desc.name) space.desc.name = "unnamed";
      if (!space.desc.domain) space.desc.domain = "";
      if (spaces_.size() == kMaxSpaces)
        return error(CONSORT_E_UNSUPPORTED,
                     "more than 62 memory spaces: leave some drivers out of the setting `drivers`");
      spaces_.push_back(space);
    }
  }
  const auto home = std::find_if(spaces_.begin(), spaces_.end(), [](const Space &s) {
    return (s.desc.flags & CONSORT_SP_CPU) && (s.desc.flags & CONSORT_SP_COHERENT);
  });
  if (home == spaces_.end())
    return error(
        CONSORT_E_UNSUPPORTED,
        "no driver offers the host's own memory: check the setting `drivers`; consort plugins lists what there is");
  home_ = home->desc.id;
  return {};
}

// If several drivers offer a path, the one that copies a megabyte fastest gets it.
void Topology::ask_links() {
  const size_t n = spaces_.size();
  links_.resize(n * n);
  const auto cost = [](const consort_link_desc &d) {
    return d.latency_ns + (d.bytes_per_s ? 1048576e9 / static_cast<double>(d.bytes_per_s) : 1e15);
  };
  for (const Space &src : spaces_)
    for (const Space &dst : spaces_) {
      if (src.desc.id == dst.desc.id) continue;
      Link &best = links_[src.desc.id * n + dst.desc.id];
      for (auto &device : devices_) {
        consort_link_desc d{};
        d.size = sizeof d;
        d.bounce_space = CONSORT_NONE;
        if (device->ops->link(device->dev, &src.desc, &dst.desc, &d) < 0) continue;
        if (!best.device || cost(d) < cost(best.desc))
          best = {device.get(), d, d.bytes_per_s, d.latency_ns, CONSORT_LINK_TOLD};
      }
    }
  clear_error();
}

Result<void> Topology::ask_units() {
  for (auto &device : devices_) {
    for (uint32_t i = 0;; ++i) {
      Unit unit;
      unit.desc = {};
      unit.desc.size = sizeof unit.desc;
      unit.desc.id = static_cast<uint32_t>(units_.size());
      unit.desc.numa = -1;
      unit.desc.depth = 1;
      unit.desc.space = home_;
      clear_error();
      const consort_status s =
          plugin_status(device->ops->unit(device->dev, i, &unit.desc), device->plugin->manifest->name, "unit()");
      if (s == CONSORT_E_INVAL) break;
      if (s < 0) return driver_error(*device->plugin, s, "describing its units");
      unit.desc.id = static_cast<uint32_t>(units_.size());
      if (!unit.desc.klass || !*unit.desc.klass || unit.desc.space >= spaces_.size())
        return error(CONSORT_E_INVAL, "driver '" + std::string(device->plugin->manifest->name) +
                                          "' describes a unit without a class or with a home that no space has");
      if (!unit.desc.arch) unit.desc.arch = unit.desc.klass;
      if (unit.desc.depth == 0) unit.desc.depth = 1;
      unit.device = device.get();
      unit.index = i;
      int bit = class_bit(unit.desc.klass);
      const bool stands_in = (unit.desc.flags & CONSORT_UNIT_SIMULATED) && unit.desc.runs && *unit.desc.runs;
      const std::string runs = stands_in && std::string_view(unit.desc.runs) != unit.desc.klass ? unit.desc.runs : "";
      if (bit >= 0 && runs_[static_cast<size_t>(bit)] != runs)
        return error(CONSORT_E_INVAL, "driver '" + std::string(device->plugin->manifest->name) +
                                          "' describes units of class '" + unit.desc.klass +
                                          "' that run other functions than those of that class which there "
                                          "are: leave one driver out of `drivers`, or give its units another class");
      if (bit < 0) {
        if (classes_.size() == kMaxClasses) return error(CONSORT_E_UNSUPPORTED, "more than 64 unit classes");
        bit = static_cast<int>(classes_.size());
        classes_.push_back(unit.desc.klass);
        runs_.push_back(runs);
      }
      unit.klass = static_cast<uint32_t>(bit);
      const auto same =
          std::count_if(units_.begin(), units_.end(), [&](const Unit &u) { return u.klass == unit.klass; });
      unit.name = unit.desc.klass + std::to_string(same);
      if (unit.desc.cpuset) unit.cpuset.assign(unit.desc.cpuset, unit.desc.cpuset + unit.desc.cpuset_words);
      units_.push_back(std::move(unit));
    }
  }
  clear_error();
  if (units_.empty())
    return error(CONSORT_E_UNSUPPORTED,
                 "no driver offers a unit to run tasks on: check the setting `drivers` and its limits");
  return {};
}

// Returns the number of the unit whose core is set aside: one near the device, else the last. No unit: its number of
// units, since one core goes on running tasks.
size_t Topology::core_for(const Unit &of_device) const noexcept {
  const auto is_near = [&](const Unit &core) {
    for (size_t i = 0; i < std::min(core.cpuset.size(), of_device.cpuset.size()); ++i)
      if (core.cpuset[i] & of_device.cpuset[i]) return true;
    return false;
  };
  size_t found = units_.size(), cores = 0;
  for (size_t i = 0; i < units_.size(); ++i) {
    if (!(units_[i].desc.flags & CONSORT_UNIT_INLINE)) continue;
    ++cores;
    if (found == units_.size() || is_near(units_[i]) || !is_near(units_[found])) found = i;
  }
  return cores > 1 ? found : units_.size();
}

void Topology::set_cores_aside() {
  for (size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].desc.flags & CONSORT_UNIT_INLINE) continue;
    const size_t core = core_for(units_[i]);
    if (core == units_.size()) break;
    if (!units_[core].cpuset.empty()) units_[i].cpuset = std::move(units_[core].cpuset);
    units_.erase(units_.begin() + static_cast<std::ptrdiff_t>(core));
    if (core < i) --i;
  }
  number_units();
}

void Topology::number_units() {
  std::vector<uint32_t> of_class(classes_.size());
  for (Unit &u : units_) {
    u.desc.id = static_cast<uint32_t>(&u - units_.data());
    u.desc.cpuset = u.cpuset.empty() ? nullptr : u.cpuset.data();
    u.desc.cpuset_words = static_cast<uint32_t>(u.cpuset.size());
    u.name = u.desc.klass + std::to_string(of_class[u.klass]++);
  }
}

void Topology::measure_reach() {
  for (Unit &unit : units_)
    for (const Space &space : spaces_)
      if (space.desc.id == unit.desc.space || (link(space.desc.id, unit.desc.space).desc.flags & CONSORT_LK_LOADSTORE))
        unit.reach |= uint64_t{1} << space.desc.id;
}

void Topology::freeze() {
  uint64_t seen = 0;
  for (const Unit &u : units_) {
    const uint64_t bit = uint64_t{1} << u.klass;
    lone_classes_ = seen & bit ? lone_classes_ & ~bit : lone_classes_ | bit;
    seen |= bit;
    const auto &d = u.desc;
    workers_.push_back({d.id, u.klass, d.space,
                        spaces_[d.space].desc.numa >= 0 ? static_cast<uint32_t>(spaces_[d.space].desc.numa) : 0,
                        d.depth, d.numa});
  }
  for (const Link &l : links_)
    hops_.push_back(l.device ? consort_hop{l.desc.bytes_per_s, l.desc.latency_ns, 1} : consort_hop{0, 0, 0});
  snapshot_ = {sizeof snapshot_, 1, static_cast<uint32_t>(workers_.size()), static_cast<uint32_t>(spaces_.size()),
               static_cast<uint32_t>(classes_.size()), 0, workers_.data(), hops_.data(), nullptr, classes_.data()};
}

void Topology::set_teams(std::vector<Team> teams) {
  teams_ = std::move(teams);
  shown_teams_.clear();
  for (const Team &t : teams_) shown_teams_.push_back({t.id, t.klass, t.space, t.size(), t.members.data()});
  snapshot_.nteams = static_cast<uint32_t>(teams_.size());
  snapshot_.teams = shown_teams_.data();
}

bool Topology::takes_text(uint32_t klass) const noexcept {
  constexpr uint32_t kFunctionsOnly = CONSORT_UNIT_INLINE | CONSORT_UNIT_SIMULATED;
  return std::none_of(units_.begin(), units_.end(),
                      [&](const Unit &u) { return u.klass == klass && (u.desc.flags & kFunctionsOnly); });
}

void Topology::believe(uint32_t src, uint32_t dst, double bytes_per_s, double latency_ns, uint32_t source) {
  Link &link = links_[src * spaces_.size() + dst];
  link.desc.bytes_per_s = static_cast<uint64_t>(std::llround(bytes_per_s));
  link.desc.latency_ns = static_cast<uint32_t>(std::min<long long>(std::llround(latency_ns), UINT32_MAX));
  link.source = source;
  hops_[src * spaces_.size() + dst] = {link.desc.bytes_per_s, link.desc.latency_ns, 1};
}

int Topology::class_bit(std::string_view klass) const noexcept {
  for (size_t i = 0; i < classes_.size(); ++i)
    if (klass == classes_[i]) return static_cast<int>(i);
  return -1;
}

}  // namespace consort
