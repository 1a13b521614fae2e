#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "call.hpp"
#include "code.hpp"
#include "control.h"
#include "graph.hpp"
#include "module.hpp"

namespace gpu {

Machine &machine() {
  static Machine *the = new Machine;
  return *the;
}

namespace {

// The devices of the vendor's variable, in its order; it ends at the first invalid one. Without it: all.
std::vector<int> shown_devices(int there) {
  std::vector<int> shown;
  const char *text = std::getenv(visible_variable);
  for (int i = 0; !text && i < there; ++i) {
    shown.push_back(i);
  }
  while (text && *text) {
    char *end = nullptr;
    const long one = std::strtol(text, &end, 10);
    if (end == text || one < 0 || one >= there) {
      break;
    }
    shown.push_back(static_cast<int>(one));
    text = *end == ',' ? end + 1 : "";
  }
  return shown;
}

}  // namespace

bool Machine::configure(const char *text, std::string &error) {
  Settings read;
  if (!Settings::parse(text ? text : "", read, error)) {
    return false;
  }
  if (!contexts.all.empty()) {
    error = "contexts are alive";
    return false;
  }
  settings = std::move(read);
  pools.all.clear();
  graphs.all.clear();
  execs.all.clear();
  nodes.all.clear();
  memory = Memory();
  devices.clear();
  host.clear();
  violations.clear();
  calls.clear();
  violation_count = operations = graph_launches = 0;
  const std::vector<int> shown = shown_devices(settings.devices);
  for (int i = 0; i < static_cast<int>(shown.size()); ++i) {
    auto device = std::make_unique<Device>();
    device->index = i;
    device->number = shown[i];
    device->sms = settings.sms[std::min<size_t>(shown[i], settings.sms.size() - 1)];
    device->memory = settings.memory;
    device->arena = std::make_unique<Arena>(settings.memory);
    device->own_pool = device->pool = std::make_shared<Pool>();
    device->own_pool->device = i;
    pools.add(device->own_pool);
    devices.push_back(std::move(device));
  }
  set = true;
  return true;
}

void Machine::violate(const std::string &words) {
  ++violation_count;
  std::string text = std::string(this_call()) + ": " + words;
  for (const std::string &known : violations) {
    if (known == text) {
      return;
    }
  }
  if (violations.size() < 1000) {
    violations.push_back(text);
    if (!settings.quiet) {
      std::fprintf(stderr, "double: %s\n", text.c_str());
    }
  }
}

uint64_t Machine::count(const char *function) { return ++calls[std::string(base_name(function))]; }

int Machine::injected(const std::vector<Injected> &from, const char *function) const {
  std::string_view name = base_name(function);
  auto at = calls.find(name);
  uint64_t nth = at == calls.end() ? 0 : at->second;
  for (const Injected &one : from) {
    if (one.function == name && (one.nth == nth || (one.onwards && nth > one.nth))) {
      return one.code;
    }
  }
  return 0;
}

Device *Machine::device_of(uint64_t address) const {
  for (const auto &device : devices) {
    if (device->arena->has(address)) {
      return device.get();
    }
  }
  return nullptr;
}

void Machine::lose(Device &device, int code) {
  if (device.lost) {
    return;
  }
  device.lost = code;
  for (auto &[handle, context] : contexts.all) {
    if (&context->device == &device) {
      context->error = code;
    }
  }
  changed.notify_all();
}

size_t Machine::live() const {
  size_t count = contexts.all.size() + events.all.size() + modules.all.size() + graphs.all.size() + execs.all.size();
  count += memory.blocks.size() + resources.all.size() + library_handles.all.size();
  for (const auto &[handle, stream] : streams.all) {
    count += !stream->hidden;
  }
  for (const auto &[handle, pool] : pools.all) {
    count += pool->own;
  }
  return count;
}

}  // namespace gpu

using gpu::machine;

int double_set(const char *text) {
  gpu::Lock lock(machine().mutex);
  std::string error;
  bool fine = machine().configure(text, error);
  if (!fine) {
    std::fprintf(stderr, "double: \"%s\" is refused: %s\n", text ? text : "", error.c_str());
  }
  return fine ? 0 : -1;
}

void double_lose(int device) {
  gpu::Lock lock(machine().mutex);
  if (device >= 0 && device < static_cast<int>(machine().devices.size())) {
    machine().lose(*machine().devices[device], gpu::unknown_error);
  }
}

int double_violations(void) {
  gpu::Lock lock(machine().mutex);
  return static_cast<int>(machine().violation_count);
}

size_t double_report(char *text, size_t size) {
  gpu::Lock lock(machine().mutex);
  std::string all;
  for (const std::string &line : machine().violations) {
    all += line + "\n";
  }
  if (size) {
    size_t length = std::min(size - 1, all.size());
    std::memcpy(text, all.data(), length);
    text[length] = 0;
  }
  return all.size();
}

size_t double_live(void) {
  gpu::Lock lock(machine().mutex);
  return machine().live();
}

size_t double_graph_launches(void) {
  std::lock_guard lock(machine().mutex);
  return machine().graph_launches;
}

size_t double_operations(void) {
  gpu::Lock lock(machine().mutex);
  return machine().operations;
}
