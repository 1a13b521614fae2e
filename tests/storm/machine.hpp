// machine.hpp — the machine that a case runs on: units, memories, policy, and the faults that strike it.
#pragma once
#include <consort/consort.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace storm {

struct Machine {
  bool simulated = false;  // devices in virtual time; else cores alone, and chance picks the worker that goes on
  bool threads = false;    // real threads: not repeatable
  int cores = 2, devices = 0, units = 1;
  uint64_t memory = 0;     // bytes of each device; 0: plenty
  int bandwidth = 0;       // MB/s of links to the devices; 0: as they come
  bool peer = false;       // a link between the devices
  int noise = 0;           // percent by which times vary
  std::string policy = "eager";
  std::vector<std::string> swaps{"lws"};  // policies that a step may change to
  int window = 2048, bypass = 32;
  int context_cores = 0, contexts = 0;  // contexts of so many cores each
  std::string context_policy;
  bool teams = false;
  int seed = 1;            // of the pump, or of the devices' noise

  // -- faults --
  long allocation = -1;    // the nth allocation inside calls fails
  std::string disk;        // of the disk that the host's memory spills to, see disk.hpp: "read@3", "write@1", "full@2", ...
  uint64_t host_memory = 0;  // bytes of it that are used; with `disk`
  std::string device;      // of driver sim: "lost@20/0", "copy@3", "oom@2", "kernel@4", "slow@8"
  std::string plugin;      // a function of plugins that is refused, of the layer `faults`
  int plugin_nth = 1;
  std::string plugin_status = "E_IO";

  bool may_fail() const {
    return allocation >= 0 || !plugin.empty() || !disk.empty() || (!device.empty() && device.rfind("slow", 0) != 0);
  }
};

// The settings of a runtime on it. Strings live as long as the object.
class Settings {
 public:
  explicit Settings(const Machine &);
  consort_status start(consort_runtime **out) const;

 private:
  void set(const char *key, std::string value) { all_.emplace_back(key, std::move(value)); }
  std::vector<std::pair<std::string, std::string>> all_;
  std::vector<consort_entry_fn *> modules_;
};

// Where plugins are, and which policies there are: all in the folder. The storm opens the files itself, once, and gives
// a runtime their entries. So no call of a case loads a file. Its allocations would depend on the path, and on the
// cases that ran before in this process.
struct Plugins {
  std::string folder;
  std::vector<std::string> policies;
  std::map<std::string, consort_entry_fn *, std::less<>> entries;  // by name
};
Plugins &plugins();
void find_plugins(const std::string &folder);

}  // namespace storm
