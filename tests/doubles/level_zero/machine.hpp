// machine.hpp — the simulated machine behind the double of Level Zero: devices, objects, memory, and violations.
//
// One lock guards all of it; lists let go of it while they execute a command. It is never destroyed: lists' threads may
// outlive main(). How it is comes from the environment (ZE_DOUBLE="devices=2,memory=64M,…") or from ze_double_configure().
#pragma once
#include <level_zero/ze_api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "spirv.hpp"

namespace ze_double {

struct Fail {  // the nth call of a function answers `code`
  std::string function;
  uint64_t nth = 1;
  bool onwards = false;
  ze_result_t code = ZE_RESULT_ERROR_UNKNOWN;
};

struct Settings {
  int devices = 2;
  uint64_t memory = uint64_t{256} << 20, largest = 0;  // of each device; 0: one allocation may take all
  uint64_t latency_us = 0, bandwidth = 0;              // of each command; bytes a second of a copy, 0: the host's
  uint64_t copy_queues = 2, pattern = 16;              // of the group that only copies, 0: there is none
  uint64_t seed = 1, keep = 16 << 20;                  // keep: bytes of freed memory that are kept, to detect accesses
  bool peers = true, fatal = false, quiet = false;
  int type = ZE_DEVICE_TYPE_GPU;
  ze_result_t init = ZE_RESULT_SUCCESS;
  std::map<int, uint64_t> lost;                        // device: with its nth command
  std::vector<Fail> fails;
};

using Lock = std::unique_lock<std::mutex>;
struct Refused { ze_result_t code; };
[[noreturn]] inline void refuse(ze_result_t code) { throw Refused{code}; }

enum class Kind { driver, device, context, pool, event, list, module, kernel, log };
const char *name(Kind) noexcept;

struct Object {
  explicit Object(Kind k) : kind(k) {}
  virtual ~Object() = default;
  const Kind kind;
  uint64_t handle = 0, context = 0;  // of the context that it was made in
};
struct Driver : Object { Driver() : Object(Kind::driver) {} };
struct Device : Object {
  Device() : Object(Kind::device) {}
  int index = 0;
  uint64_t used = 0, commands = 0;
  int running = 0;  // commands just now
  bool losing = false, lost = false;
};
struct Context : Object { Context() : Object(Kind::context) {} };
struct Pool : Object {
  Pool() : Object(Kind::pool) {}
  std::vector<bool> taken;
  bool timed = false;
  std::vector<std::shared_ptr<Device>> devices;
};
struct Event : Object {
  Event() : Object(Kind::event) {}
  std::shared_ptr<Pool> pool;
  uint32_t index = 0, used = 0;  // used: by commands that are not over
  bool signalled = false;
  uint64_t start = 0, end = 0;   // device's ticks
};
struct Module : Object {
  Module() : Object(Kind::module) {}
  std::shared_ptr<Device> device;
  std::shared_ptr<spirv::Program> program;
  std::vector<uint32_t> words;
  uint32_t kernels = 0;
};
struct Kernel : Object {
  Kernel() : Object(Kind::kernel) {}
  std::shared_ptr<Module> module;
  const spirv::Entry *entry = nullptr;
  std::vector<spirv::Argument> args;
  uint32_t size[3] = {1, 1, 1};
};
struct Log : Object {
  Log() : Object(Kind::log) {}
  std::string text;
};

struct Range {
  uint64_t at = 0, size = 0;
  bool write = false;
};
struct Block {
  uint64_t at = 0, size = 0, context = 0, pending = 0;  // pending: commands that touch it
  ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
  std::shared_ptr<Device> device;
};

struct List;

class Machine {
 public:
  static Machine &get();
  bool configure(const char *text, std::string *error);

  // -- all below with the lock
  void violate(const std::string &words);
  ze_result_t injected(const char *function);
  template <class T>
  uint64_t add(const std::shared_ptr<T> &o, uint64_t context) {
    o->handle = next_handle_ += 16;
    o->context = context;
    objects[o->handle] = o;
    return o->handle;
  }
  template <class T>
  std::shared_ptr<T> find(const void *handle, Kind kind) {
    if (!handle) refuse(ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
    const auto value = reinterpret_cast<uint64_t>(handle);
    const auto at = objects.find(value);
    if (at != objects.end() && at->second->kind == kind) return std::static_pointer_cast<T>(at->second);
    wrong_handle(value, kind);
  }
  void remove(const Object &o) { objects.erase(o.handle); }
  size_t live() const;  // objects that an application has made and not destroyed, blocks of memory included

  Block *block_of(uint64_t at);
  uint64_t take(uint64_t bytes, uint64_t align, ze_memory_type_t, uint64_t context, const std::shared_ptr<Device> &);
  void give(uint64_t at);
  void forget_freed();  // returns freed memory to the host
  // Whether a command of the device may touch these bytes; a violation is reported. pageable: the host's own memory is
  // allowed.
  bool may_touch(const Range &, const Device &, uint64_t context, bool pageable, const std::string &what);
  bool peers(const Device &a, const Device &b) const { return &a == &b || settings.peers; }

  void lose(Lock &, Device &);  // once nothing runs on it
  static uint64_t ticks();      // the devices' clock, which is none of the host's

  std::mutex mutex;
  std::condition_variable changed;
  Settings settings;
  bool initialised = false;
  std::shared_ptr<Driver> driver;
  std::vector<std::shared_ptr<Device>> devices;
  std::unordered_map<uint64_t, std::shared_ptr<Object>> objects;
  std::map<uint64_t, Block> blocks;
  std::vector<std::pair<Range, std::string>> running;  // ranges of copies and fills in progress
  std::mt19937_64 random;
  std::vector<std::string> violations;
  uint64_t commands = 0;

 private:
  Machine();
  [[noreturn]] void wrong_handle(uint64_t value, Kind kind);
  uint64_t next_handle_ = uint64_t{0x2e} << 40;
  std::map<std::string, uint64_t> calls_;
  std::deque<std::pair<uint64_t, uint64_t>> freed_;  // kept poisoned for a while
  uint64_t freed_bytes_ = 0;
};

template <class H>
H handle_of(const Object &o) {
  return reinterpret_cast<H>(o.handle);
}

}  // namespace ze_double
