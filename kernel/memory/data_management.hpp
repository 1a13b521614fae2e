// data_management.hpp — the state of the room memory: copies of data in spaces, and pinned memory.
#pragma once
#include "memory/memory.hpp"
#include "memory/pinned.hpp"
#include "observe/observation.hpp"

namespace consort {

struct DataManagement : Observation {
  DataManagement(uint64_t number, std::shared_ptr<Config> c)
      : Observation(number, std::move(c)), memory(*this), pinned(topology) {
    graph_memory = execution_memory = &memory;
  }

  Memory memory;
  PinnedMemory pinned;
};

}  // namespace consort
