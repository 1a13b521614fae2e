// observation.hpp — the state of the room observe: reports and the tracer.
#pragma once
#include <memory>

#include "observe/reports.hpp"
#include "observe/tracer.hpp"
#include "replay/replaying.hpp"

namespace consort {

struct Observation : Replaying {
  using Replaying::Replaying;

  Reports reports;                         // plugins of the registry
  std::unique_ptr<Tracer> tracer;          // nullptr: no trace
};

}  // namespace consort
