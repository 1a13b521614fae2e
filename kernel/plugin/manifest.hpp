// manifest.hpp — a checked copy of a plugin's manifest and function table, complete for this host's version.
//
// The copy is made once, when a plugin is loaded, so callers need not check for missing functions. A missing mandatory
// function is replaced by a stub that returns E_UNSUPPORTED (or 0 if it returns a count). Missing optional hooks stay
// NULL. Owned by the registry; immutable afterwards, so [any] thread may read.
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
  union {  // plugin.ops points to the member of its kind
    consort_driver_ops driver;
    consort_interface_ops interface;
    consort_scheduler_ops scheduler;
    consort_transport_ops transport;
    consort_report_ops report;
    consort_layer_ops layer;
  } ops{};
  std::string holes;  // names of missing mandatory functions, separated by blanks

  // label: the file, for errors. note: the file's note, read before it was loaded; NULL: none.
  Result<void> fill(const consort_plugin *theirs, const consort_note *note, const std::string &label);
};

}  // namespace consort
