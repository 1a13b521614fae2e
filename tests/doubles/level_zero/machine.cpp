#include "machine.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ze_double {
namespace {

constexpr uint64_t kPage = 64;

bool number(const std::string &text, uint64_t *out) {
  char *end = nullptr;
  *out = std::strtoull(text.c_str(), &end, 0);
  if (end == text.c_str()) return false;
  if (*end == 'K') *out <<= 10, ++end;
  else if (*end == 'M') *out <<= 20, ++end;
  else if (*end == 'G') *out <<= 30, ++end;
  return *end == 0;
}

std::vector<std::string> split(const std::string &text, char by) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(by, at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// "memory=64M,fail=zeMemAllocDevice:3:0x70000003,fail=zeModuleCreate:1+:0x70000002,lost=0:17"
bool parse(const std::string &text, Settings *s, std::string *error) {
  for (const std::string &word : split(text, ',')) {
    const size_t is = word.find('=');
    const std::string key = word.substr(0, is), value = is == std::string::npos ? "" : word.substr(is + 1);
    uint64_t n = 0;
    const bool good = number(value, &n);
    const auto parts = split(value, ':');
    uint64_t a = 0, b = 0;
    if (key == "fatal") s->fatal = true;
    else if (key == "quiet") s->quiet = true;
    else if (key == "nopeers") s->peers = false;
    else if (key == "devices" && good) s->devices = static_cast<int>(n);
    else if (key == "memory" && good) s->memory = n;
    else if (key == "largest" && good) s->largest = n;
    else if (key == "latency_us" && good) s->latency_us = n;
    else if (key == "bandwidth" && good) s->bandwidth = n;
    else if (key == "copy_queues" && good) s->copy_queues = n;
    else if (key == "pattern" && good) s->pattern = n;
    else if (key == "seed" && good) s->seed = n;
    else if (key == "keep" && good) s->keep = n;
    else if (key == "type" && good) s->type = static_cast<int>(n);
    else if (key == "init" && good) s->init = static_cast<ze_result_t>(n);
    else if (key == "lost" && parts.size() == 2 && number(parts[0], &a) && number(parts[1], &b)) s->lost[static_cast<int>(a)] = b;
    else if (key == "fail" && parts.size() == 3 && number(parts[2], &b)) {
      const bool onwards = parts[1].back() == '+';
      if (!number(onwards ? parts[1].substr(0, parts[1].size() - 1) : parts[1], &a)) return *error = word, false;
      s->fails.push_back({parts[0], a, onwards, static_cast<ze_result_t>(b)});
    } else {
      *error = "\"" + word + "\" is no setting of the double";
      return false;
    }
  }
  return true;
}

}  // namespace

const char *name(Kind k) noexcept {
  constexpr const char *names[] = {"driver", "device", "context", "event pool", "event", "command list", "module", "kernel", "build log"};
  return names[static_cast<int>(k)];
}

Machine &Machine::get() {
  static auto *machine = new Machine;
  return *machine;
}

Machine::Machine() {
  const char *text = std::getenv("ZE_DOUBLE");
  std::string error;
  if (!configure(text ? text : "", &error)) {
    std::fprintf(stderr, "ze_double: ZE_DOUBLE: %s\n", error.c_str());
    std::abort();
  }
}

bool Machine::configure(const char *text, std::string *error) {
  Settings s;
  if (!parse(text, &s, error)) return false;
  if (live()) {
    *error = std::to_string(live()) + " objects are alive";
    return false;
  }
  settings = s;
  initialised = false;
  objects.clear();
  devices.clear();
  violations.clear();
  running.clear();
  calls_.clear();
  commands = 0;
  random.seed(s.seed);
  driver = std::make_shared<Driver>();
  add(driver, 0);
  for (int i = 0; i < s.devices; ++i) {
    devices.push_back(std::make_shared<Device>());
    devices.back()->index = i;
    add(devices.back(), 0);
  }
  return true;
}

void Machine::violate(const std::string &words) {
  violations.push_back(words);
  if (!settings.quiet) std::fprintf(stderr, "ze_double: %s\n", words.c_str());
  if (settings.fatal) std::abort();
}

ze_result_t Machine::injected(const char *function) {
  const uint64_t n = ++calls_[function];
  for (const Fail &f : settings.fails)
    if (f.function == function && (f.nth == n || (f.onwards && n > f.nth))) return f.code;
  return ZE_RESULT_SUCCESS;
}

void Machine::wrong_handle(uint64_t value, Kind kind) {
  const auto at = objects.find(value);
  char text[32];
  std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(value));
  violate(std::string(text) + " is no handle of a " + name(kind) +
          (at != objects.end() ? std::string(": it is a ") + name(at->second->kind)
           : value <= next_handle_ && value > uint64_t{0x2e} << 40 ? ", any more: it was destroyed before" : ""));
  refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

size_t Machine::live() const {
  size_t n = blocks.size();
  for (const auto &[handle, o] : objects) n += o->kind != Kind::driver && o->kind != Kind::device;
  return n;
}

// -- memory -----------------------------------------------------------------------------------------------------------

Block *Machine::block_of(uint64_t at) {
  auto next = blocks.upper_bound(at);
  if (next == blocks.begin()) return nullptr;
  Block &b = (--next)->second;
  return at - b.at < b.size ? &b : nullptr;
}

uint64_t Machine::take(uint64_t bytes, uint64_t align, ze_memory_type_t type, uint64_t context, const std::shared_ptr<Device> &device) {
  if (!bytes) refuse(ZE_RESULT_ERROR_INVALID_SIZE);
  if (align & (align - 1)) refuse(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  if (device && device->lost) refuse(ZE_RESULT_ERROR_DEVICE_LOST);
  if (bytes > (settings.largest ? settings.largest : settings.memory)) refuse(ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  const uint64_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (device && whole > settings.memory - device->used) refuse(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  void *p = nullptr;
  if (posix_memalign(&p, std::max(align, kPage), bytes) != 0) refuse(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  std::memset(p, 0xa5, bytes);  // the initial contents are arbitrary
  const auto at = reinterpret_cast<uint64_t>(p);
  if (device) device->used += whole;
  blocks[at] = {at, bytes, context, 0, type, device};
  return at;
}

void Machine::give(uint64_t at) {
  const auto found = blocks.find(at);
  if (found == blocks.end()) {
    violate("memory is freed that was not allocated, or was freed before");
    refuse(ZE_RESULT_ERROR_INVALID_ARGUMENT);
  }
  Block &b = found->second;
  if (b.pending) violate("memory is freed that " + std::to_string(b.pending) + " commands have yet to touch");
  if (b.device) b.device->used -= (b.size + kPage - 1) / kPage * kPage;
  std::memset(reinterpret_cast<void *>(at), 0xdd, b.size);
  freed_.emplace_back(at, b.size);
  freed_bytes_ += b.size;
  blocks.erase(found);
  for (; freed_bytes_ > settings.keep && !freed_.empty(); freed_.pop_front()) {
    freed_bytes_ -= freed_.front().second;
    std::free(reinterpret_cast<void *>(freed_.front().first));
  }
}

void Machine::forget_freed() {
  for (const auto &[at, size] : freed_) std::free(reinterpret_cast<void *>(at));
  freed_.clear();
  freed_.shrink_to_fit();
  freed_bytes_ = 0;
}

bool Machine::may_touch(const Range &r, const Device &on, uint64_t context, bool pageable, const std::string &what) {
  if (!r.size) return true;
  const auto wrong = [&](const std::string &words) {
    violate(what + " of device " + std::to_string(on.index) + " touches " + std::to_string(r.size) + " bytes: " + words);
    return false;
  };
  if (const Block *b = block_of(r.at)) {
    if (r.size > b->size - (r.at - b->at)) return wrong("more than the " + std::to_string(b->size) + " of the allocation, from byte " + std::to_string(r.at - b->at) + " on");
    if (b->context != context) return wrong("memory of another context");
    if (b->type == ZE_MEMORY_TYPE_DEVICE && !peers(on, *b->device)) return wrong("memory of device " + std::to_string(b->device->index) + ", which it cannot reach");
    return true;
  }
  for (const auto &[at, size] : freed_)
    if (r.at < at + size && at < r.at + r.size) return wrong("memory that was freed");
  const auto next = blocks.lower_bound(r.at);
  if (next != blocks.end() && next->first < r.at + r.size) return wrong("it begins before an allocation");
  return pageable || wrong("no memory of its context");
}

// -- devices ----------------------------------------------------------------------------------------------------------

// From the moment at which the loss is visible, nothing of the device touches memory any more.
void Machine::lose(Lock &lock, Device &d) {
  d.losing = true;
  changed.wait(lock, [&] { return d.running == 0; });
  d.lost = true;
  changed.notify_all();
}

// 12.5 MHz, 32 bits wide in commands' times, and soon after the beginning it wraps.
uint64_t Machine::ticks() {
  static const auto begin = std::chrono::steady_clock::now();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  return UINT64_C(0xffff0000) + static_cast<uint64_t>(ns) / 80;
}

}  // namespace ze_double
