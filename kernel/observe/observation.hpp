// observation.hpp — the state of the room observe: reports and the tracer.
#pragma once
#include <memory>

#include "observe/progress.hpp"
#include "observe/reports.hpp"
#include "observe/tracer.hpp"
#include "observe/watchdog.hpp"
#include "replay/replaying.hpp"

namespace consort {

struct Observation : Replaying {
  using Replaying::Replaying;

  Reports reports;                         // plugins of the registry
  std::unique_ptr<Tracer> tracer;          // nullptr: no trace
  Watchdog watchdog{*this};
  Progress progress{*this};
};

}  // namespace consort
