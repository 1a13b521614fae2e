#include "storm/machine.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

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
    const std::string name = row->name;
    const bool policy = row->kind == CONSORT_KIND_SCHEDULER;
    static constexpr const char *kOthers[] = {"vector", "matrix", "variable", "sim", "cpu", "faults"};
    if (!row->usable || (!policy && std::find(std::begin(kOthers), std::end(kOthers), name) == std::end(kOthers))) return;
    void *const file = dlopen(row->path, RTLD_NOW | RTLD_LOCAL);  // for as long as this process lives
    void *const entry = file ? dlsym(file, "consort_plugin_entry") : nullptr;
    if (!entry) std::fprintf(stderr, "storm: %s\n", dlerror()), std::exit(2);
    plugins().entries[name] = reinterpret_cast<consort_entry_fn *>(entry);
    if (policy) plugins().policies.push_back(name);
  };
  (void)consort_list_plugins(&s, 0, each, nullptr);
  std::sort(plugins().policies.begin(), plugins().policies.end());
}

Settings::Settings(const Machine &m) {
  // Only the needed plugins: each plugin that a runtime inspects costs time.
  std::vector<std::string> names = m.swaps;
  names.push_back(m.policy);
  if (!m.context_policy.empty()) names.push_back(m.context_policy);
  // A policy that names others needs all of them.
  if (std::find(names.begin(), names.end(), "auto") != names.end()) names = plugins().policies;
  for (const char *name : {"vector", "matrix", "variable", m.simulated ? "sim" : "cpu"}) names.push_back(name);
  if (!m.plugin.empty()) names.push_back("faults");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string &name : names)
    if (const auto at = plugins().entries.find(name); at != plugins().entries.end()) modules_.push_back(at->second);
  if (!m.disk.empty()) modules_.push_back(disk_entry());
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
  s.modules = modules_.data();
  s.nmodules = static_cast<uint32_t>(modules_.size());
  return consort_start(&s, out);
}

}  // namespace storm
