// inventory.hpp — spaces, units and links of a runtime with these settings; or why none starts.
//
// A child process starts a runtime without threads, queries it and stops it: no thread is bound, no task runs, and a driver
// that ends its process does not end the command. One thread.
#pragma once
#include <consort/consort.h>

#include <string>
#include <vector>

#include "commands.hpp"
#include "examine.hpp"
#include "json.hpp"

namespace tool {

struct Space {
  uint32_t id;
  std::string name, driver, domain;
  uint64_t capacity;                               // 0: unknown
  uint32_t flags;
  int32_t numa;                                    // < 0: none
};
struct Unit {
  uint32_t id;
  std::string name, klass, arch;
  uint32_t space;                                  // CONSORT_NONE: none
  int32_t numa, os_cpu;
};
struct Link {
  uint32_t from, to;
  std::string driver;
  uint64_t bytes_per_s, latency_ns;
  uint32_t flags;
  bool measured;
};
struct LogLine {                                   // of the runtime's log
  int32_t level;
  std::string text;
};

struct Inventory {
  std::string error;                               // why no runtime starts; "": it starts
  std::string culprit, ending;                     // the driver that ended the process, and how; "": none
  std::string topology;                            // the setting cpu.topology
  std::vector<LogLine> log;
  std::vector<Space> spaces;
  std::vector<Unit> units;
  std::vector<Link> links;
};

// extra: settings that override the user's. seconds: time limit of the child.
Inventory take_inventory(Settings &, Examination &, std::vector<consort_setting> extra, double seconds = 30);

Json json_of(const Inventory &);                   // {"spaces": […], "units": […], "links": […]}
// The scheduler that `scheduler` selected at the start, and its reason, as logged. "": it selects none.
std::string choice_of_director(const std::string &scheduler, const std::vector<LogLine> &, std::string *reason);
std::vector<std::string> space_flags(uint32_t);    // "load/store", "copies only", …
std::vector<std::string> link_flags(uint32_t);

}  // namespace tool
