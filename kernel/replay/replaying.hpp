// replaying.hpp — the state of the room replay: all recordings.
#pragma once
#include "exec/execution.hpp"
#include "replay/recording.hpp"

namespace consort {

struct Replaying : Execution {
  Replaying(uint64_t number, std::shared_ptr<Config> c) : Execution(number, std::move(c)), recordings(*this) {}

  Recordings recordings;
};

}  // namespace consort
