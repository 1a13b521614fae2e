// default_devices.hpp — which drivers of devices start although no setting names them, and which of their devices are used.
//
// A driver says in a note of its file where its devices show in the file system (CONSORT_DEVICES); looking there loads
// nothing. A device that two drivers offer, told by its place on the bus (consort/start.h), belongs to the first of
// them. Knows no device by name. Used by the registry, under its mutex.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "plugin/config.hpp"
#include "plugin/host.hpp"
#include "plugin/registry.hpp"

namespace consort {

class DefaultDevices {
 public:
  DefaultDevices(const Config &, const Log &);

  // Whether a driver with devices at `paths` is to start. left: only for devices that no driver has yet. The log says
  // why not.
  bool are_there(const std::string &driver, const std::string &paths, bool left) const;
  // A driver has started. It owns its devices, except devices of an earlier driver (Plugin::left_out).
  void add(Plugin &);

 private:
  std::vector<std::string> matches(const std::string &paths) const;
  std::string owner(const std::string &place) const;  // a driver's name; "": none

  const Log &log_;
  const std::string root_;
  const bool off_;                                  // virtual time: no device of this machine belongs to the run
  std::map<std::string, std::string> owners_;       // by place on the bus
  bool others_ = false;                             // a driver that looks for devices has one
};

}  // namespace consort
