// opencl.cpp — the driver of whatever OpenCL devices a machine has: which are taken, the settings, the table.
//
// init() opens the loader's library and looks at all platforms; without a device it answers E_UNSUPPORTED and one line
// that says why. Stateless but for Driver, which the kernel holds.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "queue.hpp"

namespace opencl {
namespace {

Device &device(void *d) noexcept { return *static_cast<Device *>(d); }
Queue &queue(void *q) noexcept { return *static_cast<Queue *>(q); }

template <class F>
consort_status guarded(const consort_host *host, F body) noexcept {
  try {
    return body();
  } catch (...) {
    return host->fail(host, CONSORT_E_NOMEM, "opencl: out of memory");
  }
}

// -- which devices ----------------------------------------------------------------------------------------------------

std::vector<std::string> split(const std::string &list) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : list + ",") {
    if (c != ',') {
      if (c != ' ' || !word.empty()) word += c;
      continue;
    }
    while (!word.empty() && word.back() == ' ') word.pop_back();
    if (!word.empty()) words.push_back(word);
    word.clear();
  }
  return words;
}

bool contains(const std::string &text, const std::string &part) {
  const auto lower = [](std::string s) {
    for (char &c : s) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return s;
  };
  return lower(text).find(lower(part)) != std::string::npos;
}

// A number is the place in the list, anything else a part of the name. No words: all.
bool chosen(const std::vector<std::string> &words, uint32_t number, const std::string &name) {
  if (words.empty()) return true;
  for (const std::string &w : words) {
    char *end = nullptr;
    const unsigned long n = std::strtoul(w.c_str(), &end, 10);
    if (*end == 0 ? n == number : contains(name, w)) return true;
  }
  return false;
}

cl_device_type types_of(const std::vector<std::string> &words) {
  cl_device_type types = 0;
  for (const std::string &w : words)
    types |= w == "gpu" ? CL_DEVICE_TYPE_GPU : w == "accelerator" ? CL_DEVICE_TYPE_ACCELERATOR : w == "cpu" ? CL_DEVICE_TYPE_CPU
             : w == "custom" ? CL_DEVICE_TYPE_CUSTOM : w == "all" ? CL_DEVICE_TYPE_ALL : 0;
  return types;
}

consort_status choose(Driver &d, const std::string &types, const std::string &platforms, const std::string &devices) {
  const auto nothing = [&](consort_status s, const std::string &why) {
    return d.host->fail(d.host, s, ("opencl: no device: " + why).c_str());
  };
  const cl_device_type wanted = types_of(split(types));
  if (!wanted)
    return d.host->fail(d.host, CONSORT_E_INVAL, ("opencl: types = \"" + types + "\" names none of gpu, accelerator, cpu, custom, all").c_str());
  // Runtimes may start at once, and not every platform sets itself up safely when asked by two threads.
  static constinit std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  cl_uint n = 0;
  const cl_int e = d.api.clGetPlatformIDs(0, nullptr, &n);
  if (e != CL_SUCCESS || n == 0)
    return nothing(CONSORT_E_UNSUPPORTED, std::string("no platform is installed (") + name(e) + "): install a vendor's OpenCL driver");
  std::vector<cl_platform_id> ids(n);
  d.api.clGetPlatformIDs(n, ids.data(), nullptr);
  const auto wanted_platforms = split(platforms), wanted_devices = split(devices);
  std::string others;
  uint32_t number = 0;  // of devices, over all platforms, before any choice
  for (cl_uint p = 0; p < n; ++p) {
    const std::string platform = text_of(d.api.clGetPlatformInfo, ids[p], CL_PLATFORM_NAME);
    cl_uint have = 0;
    if (d.api.clGetDeviceIDs(ids[p], CL_DEVICE_TYPE_ALL, 0, nullptr, &have) != CL_SUCCESS) have = 0;
    std::vector<cl_device_id> list(have);
    if (have) d.api.clGetDeviceIDs(ids[p], CL_DEVICE_TYPE_ALL, have, list.data(), nullptr);
    for (cl_uint i = 0; i < have; ++i, ++number) {
      const std::string label = text_of(d.api.clGetDeviceInfo, list[i], CL_DEVICE_NAME);
      const cl_device_type type = value_of<cl_device_type>(d.api.clGetDeviceInfo, list[i], CL_DEVICE_TYPE);
      const char *why = nullptr;
      if (!chosen(wanted_platforms, p, platform)) why = "its platform is not in opencl.platforms";
      else if (!chosen(wanted_devices, number, label)) why = "not in opencl.devices";
      else if (wanted_devices.empty() && !(type & wanted))
        why = type & CL_DEVICE_TYPE_CPU ? "it is the host's own cores, which the driver \"cpu\" offers; name \"cpu\" in opencl.types to have it"
                                        : "of a type that is not in opencl.types";
      else if (!value_of<cl_bool>(d.api.clGetDeviceInfo, list[i], CL_DEVICE_AVAILABLE)) why = "it says that it is not available";
      else if (!value_of<cl_bool>(d.api.clGetDeviceInfo, list[i], CL_DEVICE_ENDIAN_LITTLE)) why = "its byte order is not the host's";
      if (why) others += (others.empty() ? "" : "; ") + std::to_string(number) + " \"" + label + "\" (" + platform + "): " + why;
      else d.devices.push_back({ids[p], list[i], label});
    }
  }
  if (d.devices.empty())
    return nothing(CONSORT_E_UNSUPPORTED, others.empty() ? std::to_string(n) + " platforms, and none has a device" : "not taken: " + others);
  if (!others.empty()) d.host->log(d.host, 3, ("opencl: not taken: " + others).c_str());
  return CONSORT_OK;
}

// "1000000", "512M", "2G"
bool parse_bytes(const std::string &text, uint64_t *out) {
  char *end = nullptr;
  *out = std::strtoull(text.c_str(), &end, 10);
  if (end == text.c_str()) return text.empty();
  const char *units = "KMGT", *at = *end ? std::strchr(units, *end >= 'a' ? *end - 32 : *end) : nullptr;
  if (at) *out <<= 10 * (at - units + 1), ++end;
  return *end == 0;
}

// $XDG_CACHE_HOME or ~/.cache; nothing in a process with more rights than its user.
std::string standard_cache() {
  const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
  if (cache && cache[0] == '/') return std::string(cache) + "/consort/opencl";
  return home && home[0] == '/' ? std::string(home) + "/.cache/consort/opencl" : "";
}

// -- life -------------------------------------------------------------------------------------------------------------

consort_status init(const consort_host *host, void **self) noexcept {
  return guarded(host, [&]() -> consort_status {
    auto d = std::make_unique<Driver>();
    d->host = host;
    const auto text = [&](const char *key) -> std::string {
      const char *v = host->param(host, key);
      return v ? v : "";
    };
    const auto number = [&](const char *key) { return static_cast<uint32_t>(std::strtoul(text(key).c_str(), nullptr, 10)); };
    Settings &s = d->settings;
    s.units = number("units");
    s.depth = number("depth");
    s.profiling = text("profiling") == "true";
    s.any_order = text("any_order") == "true";
    s.options = text("options");
    s.folders = text("folders");
    s.cache = text("cache");
    if (s.cache == "auto") s.cache = standard_cache();
    else if (s.cache == "off") s.cache.clear();
    if (const std::string limit = text("limit"); !parse_bytes(limit, &s.limit))
      return host->fail(host, CONSORT_E_INVAL, ("opencl: limit = \"" + limit + "\" is no size: write bytes, or 512M, 2G").c_str());
    std::string why;
    if (!d->api.open(text("library").c_str(), &why))
      return host->fail(host, CONSORT_E_UNSUPPORTED, ("opencl: no device: " + why).c_str());
    const consort_status status = choose(*d, text("types"), text("platforms"), text("devices"));
    if (status < 0) return status;
    *self = d.release();
    return CONSORT_OK;
  });
}

void fini(void *self) noexcept { delete static_cast<Driver *>(self); }

uint32_t count(void *self) noexcept { return static_cast<uint32_t>(static_cast<Driver *>(self)->devices.size()); }

consort_status open(void *self, uint32_t index, uint64_t token, void **out) noexcept {
  Driver &driver = *static_cast<Driver *>(self);
  if (index >= driver.devices.size())
    return driver.host->fail(driver.host, CONSORT_E_INVAL, ("opencl: no device number " + std::to_string(index) + " was chosen").c_str());
  return guarded(driver.host, [&] {
    auto d = std::make_unique<Device>(driver, index, token);
    const consort_status status = d->open();
    if (status >= 0) *out = d.release();
    return status;
  });
}
void close(void *dev) noexcept { delete &device(dev); }

// -- the table --------------------------------------------------------------------------------------------------------

consort_status space(void *dev, uint32_t i, consort_space_desc *out) noexcept { return device(dev).space(i, out); }
consort_status unit(void *dev, uint32_t i, consort_unit_desc *out) noexcept { return device(dev).unit(i, out); }
consort_status link(void *dev, const consort_space_desc *src, const consort_space_desc *dst, consort_link_desc *out) noexcept {
  return device(dev).link(src, dst, out);
}
consort_status alloc(void *dev, uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_addr *out) noexcept {
  return guarded(device(dev).driver.host, [&] { return device(dev).alloc(space, bytes, align, flags, out); });
}
void free(void *dev, uint32_t space, consort_addr addr, uint64_t bytes) noexcept { device(dev).free(space, addr, bytes); }

consort_status attach(void *dev, uint32_t space, consort_addr addr, uint64_t bytes, consort_addr *local) noexcept {
  return guarded(device(dev).driver.host, [&] { return device(dev).attach(space, addr, bytes, local); });
}
void detach(void *dev, uint32_t space, consort_addr local) noexcept { device(dev).detach(space, local); }

consort_status load_impl(void *dev, const char *format, const void *text, uint64_t n, const char *entry, uint64_t *code) noexcept {
  return guarded(device(dev).driver.host, [&] { return device(dev).load(format, text, n, entry, code); });
}

consort_status queue_open(void *dev, uint32_t unit, uint64_t token, consort_queue_desc *out, void **q) noexcept {
  return guarded(device(dev).driver.host, [&] {
    Queue *made = nullptr;
    const consort_status status = Queue::open(device(dev), unit, token, out, &made);
    *q = made;
    return status;
  });
}
void queue_close(void *q) noexcept { delete &queue(q); }
uint32_t submit(void *q, const consort_op *ops, uint32_t n) noexcept { return queue(q).submit(ops, n); }
uint32_t poll(void *q, consort_done *out, uint32_t max) noexcept { return queue(q).poll(out, max); }
int32_t event_fd(void *q) noexcept { return queue(q).fd(); }
consort_status arm(void *q) noexcept { return queue(q).arm(); }

constexpr consort_param params[] = {
    {"library", "string", "libOpenCL.so.1", nullptr, "the loader's library: a name or a path"},
    {"types", "list", "gpu,accelerator", nullptr,
     "kinds of devices: gpu, accelerator, cpu (the host's own cores once more), custom, all"},
    {"platforms", "list", "", nullptr, "platforms by number or part of their name; empty: all"},
    {"devices", "list", "", nullptr, "devices by number over all platforms, or part of their name, of any type; empty: all of `types`"},
    {"limit", "string", "0", nullptr, "memory used of each device: bytes, 512M, 2G; 0: all"},
    {"units", "u32", "1", "1..16", "units per device, each with a queue of its own: kernels that may run side by side"},
    {"depth", "u32", "16", "1..4096", "ops in flight per queue"},
    {"options", "string", "", nullptr, "for the compiler of kernels, as \"-cl-fast-relaxed-math\""},
    {"folders", "string", "", nullptr, "where kernel files are looked for before the working directory, with : between"},
    {"cache", "string", "auto", nullptr, "folder of built kernels; auto: consort/opencl in the user's cache; off: none"},
    {"any_order", "bool", "true", nullptr, "copies overtake one another, where the device has queues that let them"},
    {"profiling", "bool", "true", nullptr, "queues that can tell when an op began and ended"},
};

constexpr consort_driver_ops ops = {
    .size = sizeof(consort_driver_ops), .flags = CONSORT_DRV_FD,
    .count = count, .open = open, .close = close, .space = space, .unit = unit, .link = link, .alloc = alloc,
    .free = free, .attach = attach, .detach = detach, .load_impl = load_impl, .queue_open = queue_open,
    .queue_close = queue_close, .submit = submit, .poll = poll, .event_fd = event_fd, .arm = arm,
    .next_event = nullptr, .codelet = nullptr,
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME, .name = "opencl", .version = "0.1.0",
    .summary = "OpenCL devices: a space and units per device, kernels from source", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &ops, .init = init, .quiesce = nullptr, .fini = fini, .get = nullptr,
};

}  // namespace
}  // namespace opencl

CONSORT_MODULE(opencl, DRIVER, CONSORT_PF_BY_NAME, "opencl", "0.1.0", opencl::plugin);
