// machine_reader.hpp — a machine's file as the driver sim reads it, for the targets `machine` and `machine_json`.
#pragma once
#include <cmath>
#include <map>
#include <string>

#include "fuzz.hpp"
#include "kernel/plugin/config_value.hpp"
#include "plugins/drivers/sim/machine.hpp"

extern "C" const consort_module *consort_plugin_entry_sim(const consort_host *);

namespace fuzz {

using MachineParams = std::map<std::string, std::string>;

// A parameter that is not given has its default. One of the wrong type is refused, as by the kernel. False: why.
inline bool read_machine(const MachineParams &params, std::string *why) {
  consort_host host{};
  host.size = sizeof host, host.major = CONSORT_HOST_MAJOR, host.minor = CONSORT_HOST_MINOR;
  const consort_plugin &plugin = *consort_plugin_entry_sim(&host)->plugins[0];
  MachineParams all;
  for (uint32_t i = 0; i < plugin.nparams; ++i) {
    const consort_param &p = plugin.params[i];
    const auto given = params.find(p.key);
    auto value = consort::read_value(given == params.end() ? p.dflt : given->second, p.type, p.range ? p.range : "");
    if (!value) return *why = value.error().text, false;
    all[p.key] = value->text;
  }
  host.ctx = &all;
  host.param = [](const consort_host *h, const char *key) -> const char * {
    const auto &values = *static_cast<const MachineParams *>(h->ctx);
    const auto at = values.find(key);
    return at == values.end() ? nullptr : at->second.c_str();
  };
  try {
    const sim::Machine m = sim::Machine::read(&host);
    for (const auto &[ends, path] : m.paths) {
      expect(path.bytes_per_s > 0 && !path.wires.empty(), "a path has a rate and wires");
      expect(m.bus_of(path) < static_cast<int>(m.wires.size()), "a bus is one of the wires");
      for (const uint32_t w : path.wires) expect(w < m.wires.size() && m.wires[w] > 0, "a wire has a rate");
    }
    for (const sim::DeviceSpec &d : m.devices) {
      expect(d.speed > 0 && d.slow > 0 && d.depth > 0 && !d.klass.empty(), "a device is sound", d.name);
      for (const auto &[name, curve] : d.kernels)
        for (const uint64_t bytes : {uint64_t{1}, uint64_t{4096}, uint64_t{1} << 40})
          expect(!(curve.ns(bytes) < 0), "a kernel takes no negative time", name);
    }
    return true;
  } catch (const sim::Bad &b) {
    return *why = b.text, false;
  }
}

}  // namespace fuzz
