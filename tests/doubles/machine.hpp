// The simulated machine of this process: its devices, all objects on them, and the record of violations. One lock
// guards all of it; streams release it while they execute, and nothing else runs beside it. It is never destroyed, for
// streams' threads may outlive main().
#pragma once
#include <condition_variable>
#include <set>
#include <string>
#include <vector>

#include "memory.hpp"
#include "settings.hpp"
#include "stream.hpp"

namespace gpu {

struct Module;
struct Graph;
struct Node;
struct Exec;

struct LibraryHandle : Object {  // of a library that stands on this one
  std::shared_ptr<Context> context;
  const void *stream = nullptr;
  const char *library = "";
};

struct Device {
  int index = 0;
  int number = 0;  // before some were hidden: for its name and its place on the bus
  int sms = 16;
  size_t memory = 0, plain = 0;  // total; allocated outside pools
  std::unique_ptr<Arena> arena;
  std::shared_ptr<Pool> own_pool, pool;
  std::shared_ptr<Context> primary;
  int references = 0;
  unsigned flags = 0;
  int lost = 0;
  uint64_t operations = 0;
};

struct Context : Object {
  explicit Context(Device &on) : device(on) {}

  Device &device;
  bool primary = false, alive = true;
  int error = 0;
  unsigned flags = 0;
  std::set<int> peers;
  std::shared_ptr<Stream> null_stream;
  std::map<uint64_t, std::shared_ptr<Stream>> per_thread;
};

// A buffer of a graphics library's that is shown to the device. Mapped: it has a block there.
struct Resource : Object {
  unsigned buffer = 0, flags = 0;
  size_t size = 0;
  std::shared_ptr<Context> context;
  std::shared_ptr<Block> block;
  std::vector<unsigned char> kept;  // of a read-only block
};

class Machine {
 public:
  std::mutex mutex;
  std::condition_variable changed;  // signals for waiting host threads
  Settings settings;
  bool set = false, initialised = false;
  std::vector<std::unique_ptr<Device>> devices;
  Memory memory;
  Clock host;  // the operations whose end the host has seen
  Table<Context> contexts{1};
  Table<Stream> streams{2};
  Table<Event> events{3};
  Table<Module> modules{4};
  Table<Function> functions{5};
  Table<Pool> pools{6};
  Table<Graph> graphs{7};
  Table<Exec> execs{8};
  Table<Node> nodes{9};
  Table<Resource> resources{10};
  Table<LibraryHandle> library_handles{11};
  std::vector<std::weak_ptr<Capture>> captures;
  uint64_t next_stream = 0, next_capture = 0, next_context = 0;
  std::set<Stream *> blocked;  // threads of streams that wait for another stream
  std::vector<std::string> violations;
  size_t violation_count = 0, operations = 0, graph_launches = 0;

  bool configure(const char *text, std::string &error);  // makes the devices
  void violate(const std::string &words);
  int injected(const std::vector<Injected> &from, const char *function) const;
  uint64_t count(const char *function);
  Device *device_of(uint64_t address) const;
  void lose(Device &device, int code);
  size_t live() const;

 private:
  std::map<std::string, uint64_t, std::less<>> calls;
};

Machine &machine();

extern const char *const visible_variable;  // each front's: the variable that hides devices

}  // namespace gpu
