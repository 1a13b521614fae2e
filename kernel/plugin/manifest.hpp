// manifest.hpp — a plugin's manifest and function table as this host knows them: checked, copied, holes filled.
//
// The copy is made once, when a plugin is loaded, so that nobody ever asks again whether a function is there. A
// mandatory function that is missing becomes one that answers E_UNSUPPORTED (or 0, where it counts); optional
// hooks stay NULL. Owned by the registry; immutable afterwards, so [any] thread may read.
#pragma once
#include <consort/driver.h>
#include <consort/interface.h>
#include <consort/layer.h>
#include <consort/report.h>
#include <consort/scheduler.h>
#include <consort/transport.h>

#include <string>

#include "base/result.hpp"

namespace consort {

struct Manifest {
  consort_plugin plugin{};
  union {  // plugin.ops points to the one of its kind
    consort_driver_ops driver;
    consort_interface_ops interface;
    consort_scheduler_ops scheduler;
    consort_transport_ops transport;
    consort_report_ops report;
    consort_layer_ops layer;
  } ops{};
  std::string holes;  // names of missing mandatory functions, with blanks between

  // who: the file, for errors. note: what the file said of itself before it was loaded; NULL: nothing.
  Result<void> fill(const consort_plugin *theirs, const consort_note *note, const std::string &who);
};

}  // namespace consort
