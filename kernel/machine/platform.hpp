// platform.hpp — the state that every room above may use: settings, clock, log, plugins and the machine.
//
// Each room that has a state derives its struct from that of the room below; Platform is the lowest
// (docs/decisions/036-floors.md). Filled at the start by api/runtime.cpp; afterwards any thread may read.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "machine/cores.hpp"
#include "machine/lost_devices.hpp"
#include "machine/topology.hpp"
#include "plugin/config.hpp"
#include "plugin/host.hpp"
#include "plugin/registry.hpp"

namespace consort {

class LinkBenchmark;

struct Platform {
  explicit Platform(std::shared_ptr<Config> c)
      : config(std::move(c)),
        clock(config->text("pump") == "manual" || config->text("time") == "virtual",
              static_cast<uint64_t>(config->number("seed"))) {}

  void log(int32_t level, const std::string &text) const noexcept {
    if (log_to.wants(level)) log_to.write(level, text);
  }

  const std::shared_ptr<Config> config;
  Clock clock;
  Log log_to;
  bool manual = false;                     // one thread steps the workers (setting `pump`)
  bool virtual_time = false;               // implies manual: the clock advances from event to event
  std::unique_ptr<Registry> registry;
  std::unique_ptr<Topology> topology;      // its plugins belong to the registry
  CoreLease cores;
  LostDevices lost;
  // set at the start while a link is measured; release and acquire: completed()
  std::atomic<LinkBenchmark *> benchmark{nullptr};
};

}  // namespace consort
