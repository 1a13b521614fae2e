#include "storm/machine.hpp"

#include <algorithm>

#include "storm/disk.hpp"
#include "storm/faults.hpp"

namespace storm {

Plugins &plugins() {
  static Plugins all;
  return all;
}

void find_plugins(const std::string &folder) {
  plugins().folder = folder;
  consort_settings s = CONSORT_SETTINGS_INIT;
  const consort_setting path{"plugin_path", folder.c_str()};
  s.set = &path;
  s.nset = 1;
  const auto each = [](void *, const consort_plugin_row *row) {
    if (row->kind == CONSORT_KIND_SCHEDULER && row->usable) plugins().policies.emplace_back(row->name);
  };
  (void)consort_list_plugins(&s, 0, each, nullptr);
  std::sort(plugins().policies.begin(), plugins().policies.end());
}

Settings::Settings(const Machine &m) {
  // Only what is needed is looked at: opening each plugin of a folder costs more than most programs.
  std::string files;
  for (const char *name : {"vector", "matrix", "variable", m.simulated ? "sim" : "cpu"})
    files += "+" + plugins().folder + "/" + name + ".so,";
  std::vector<std::string> policies = m.swaps;
  policies.push_back(m.policy);
  if (!m.context_policy.empty()) policies.push_back(m.context_policy);
  // One that names others needs all of them.
  if (std::find(policies.begin(), policies.end(), "auto") != policies.end()) policies = plugins().policies;
  std::sort(policies.begin(), policies.end());
  policies.erase(std::unique(policies.begin(), policies.end()), policies.end());
  for (const std::string &policy : policies) files += "+" + plugins().folder + "/" + policy + ".so,";
  if (!m.plugin.empty()) files += "+" + plugins().folder + "/faults.so,";
  files.pop_back();
  set("plugins", files);
  // The log says when a fault strikes.
  set("log", !m.device.empty() || !m.disk.empty() ? "debug" : !m.plugin.empty() ? "info" : "warn");
  set("scheduler", m.policy);
  set("window", std::to_string(m.window));
  set("bypass", std::to_string(m.bypass));
  set("seed", std::to_string(m.seed));
  set("keep_models", "no");
  if (m.simulated) {
    set("drivers", "sim");
    set("time", "virtual");
    set("sim.cores", std::to_string(m.cores));
    set("sim.devices", std::to_string(m.devices));
    set("sim.units", std::to_string(m.units));
    set("sim.depth", "3");
    if (m.memory) set("sim.memory", std::to_string(m.memory));
    if (m.bandwidth) set("sim.bandwidth", std::to_string(m.bandwidth) + "M");
    if (m.peer) set("sim.peer", "1G");
    if (m.noise) set("sim.noise", std::to_string(m.noise / 100.0)), set("sim.link_noise", std::to_string(m.noise / 100.0));
    if (!m.device.empty()) set("sim.faults", m.device);
    if (m.teams && m.cores > 1) {
      const int first = m.devices * m.units;
      set("teams", std::to_string(first) + "-" + std::to_string(first + m.cores - 1));
    } else {
      set("teams", "off");
    }
  } else {
    set("drivers", m.disk.empty() ? "cpu" : "cpu,storm_disk");
    set("pump", m.threads ? "threads" : "manual");
    set("cpu.topology", "pack:1 core:4 pu:1");
    set("workers", std::to_string(m.cores));
    set("teams", m.teams && m.cores > 1 ? "0-" + std::to_string(m.cores - 1) : "off");
  }
  if (!m.disk.empty()) {
    disk_ = true;
    set("limits", "ram=" + std::to_string(m.host_memory));
    set("save_ahead", "0");
    set("storm_disk.path", "/dev/shm");  // a file that costs no disk anything
    set("storm_disk.capacity", "4M");
    set("storm_disk.preallocate", "false");
    set("storm_disk.fault", m.disk);
  }
  if (!m.plugin.empty()) {
    set("layers", "faults");
    set("faults.function", m.plugin);
    set("faults.nth", std::to_string(m.plugin_nth));
    set("faults.status", m.plugin_status);
  }
}

consort_status Settings::start(consort_runtime **out) const {
  std::vector<consort_setting> pairs;
  for (const auto &[key, value] : all_) pairs.push_back({key.c_str(), value.c_str()});
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = pairs.data();
  s.nset = static_cast<uint32_t>(pairs.size());
  s.log = log_line;
  consort_entry_fn *const disk = disk_entry();
  if (disk_) s.modules = &disk, s.nmodules = 1;
  return consort_start(&s, out);
}

}  // namespace storm
