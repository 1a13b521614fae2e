// The room api: the functions of the C API, one file for each header of them, and the Runtime, which is made of the
// structs of all rooms. It includes every room; no other room may include it. Start with entry.hpp (how a call enters),
// then tasks.cpp and lifecycle.cpp.
//
// runtime.hpp — one runtime: the last of the structs of the rooms (docs/decisions/036-floors.md).
//
// The application holds a shell (base/process.hpp), never a Runtime. The Runtime's only functions are start and stop.
#pragma once
#include <consort/consort.h>

#include <atomic>
#include <memory>

#include "exec/idle_pump.hpp"
#include "graph/copy_codelet.hpp"
#include "memory/data_management.hpp"
#include "observe/watched_runs.hpp"

namespace consort {

struct Runtime : DataManagement {
  static Result<std::unique_ptr<Runtime>> start(const consort_settings *);
  ~Runtime();  // precondition: no task is pending; joins all threads

  CopyCodelets copying{*this};
  std::atomic<bool> ordered_data{true};    // of data registered from now on. relaxed: it publishes nothing
  IdlePump idle_pump{*this};               // virtual time
  std::unique_ptr<WatchedRuns> watched;    // set while plugins start; nullptr: no layer watches bodies

 private:
  Runtime(uint64_t number, std::shared_ptr<Config>);
  Result<void> open(const consort_settings *);
  Result<void> open_workers(Plugin &scheduler);
};

}  // namespace consort
