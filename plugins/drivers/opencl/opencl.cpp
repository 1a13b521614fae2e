// opencl.cpp — the driver of OpenCL devices: selection of devices, settings, table.
//
// init() opens the loader's library and queries all platforms; without a device it returns E_UNSUPPORTED and one line
// that says why. No state except Driver, which the kernel holds.
#include <glob.h>

#include <cstdlib>
#include <fstream>
#include <mutex>

#include "../streams/kernel_cache.hpp"
#include "../streams/settings.hpp"
#include "lane.hpp"

namespace opencl {
namespace {

// -- selection of devices-----------------------------------------------------------------------------------------------

using streams::split, streams::chosen;

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
    return d.host->fail(d.host, CONSORT_E_INVAL, ("opencl: types = \"" + types + "\" has none of gpu, accelerator, cpu, custom, all").c_str());
  // Runtimes may start concurrently, and some platforms do not initialise safely on two threads.
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
  uint32_t number = 0;  // of devices, over all platforms, before selection
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
        why = type & CL_DEVICE_TYPE_CPU ? "it is the host's own cores, which the driver \"cpu\" offers; add \"cpu\" to opencl.types to use it"
                                        : "of a type that is not in opencl.types";
      else if (!value_of<cl_bool>(d.api.clGetDeviceInfo, list[i], CL_DEVICE_AVAILABLE)) why = "it reports itself as not available";
      else if (!value_of<cl_bool>(d.api.clGetDeviceInfo, list[i], CL_DEVICE_ENDIAN_LITTLE)) why = "its byte order differs from the host's";
      if (why) others += (others.empty() ? "" : "; ") + std::to_string(number) + " \"" + label + "\" (" + platform + "): " + why;
      else d.devices.push_back({ids[p], list[i], label});
    }
  }
  if (d.devices.empty())
    return nothing(CONSORT_E_UNSUPPORTED, others.empty() ? std::to_string(n) + " platforms, without a device" : "not selected: " + others);
  if (!others.empty()) d.host->log(d.host, 3, ("opencl: not selected: " + others).c_str());
  return CONSORT_OK;
}

// Whether the loader's list has a platform besides PoCL, whose devices are the host's cores and which brings a compiler
// into the process. Loads nothing; unknown is true.
bool has_vendor() {
  if (std::getenv("OCL_ICD_VENDORS") || std::getenv("OCL_ICD_FILENAMES")) return true;
  glob_t files{};
  bool other = false;
  if (::glob("/etc/OpenCL/vendors/*.icd", 0, nullptr, &files) == 0)
    for (size_t i = 0; i < files.gl_pathc && !other; ++i) {
      std::string library;
      std::getline(std::ifstream(files.gl_pathv[i]), library);
      other = library.find("pocl") == library.npos;
    }
  ::globfree(&files);
  return other;
}

}  // namespace

// -- life -------------------------------------------------------------------------------------------------------------

consort_status Driver::read() {
  const auto number = [&](const char *key) { return static_cast<uint32_t>(std::strtoul(text(key).c_str(), nullptr, 10)); };
  by_default = streams::is_by_default(host);
  settings.units = number("units");
  settings.depth = number("depth");
  settings.profiling = text("profiling") == "true";
  settings.any_order = text("any_order") == "true";
  settings.options = text("options");
  settings.folders = text("folders");
  settings.cache = streams::cache_folder(text("cache"), kName);
  if (const std::string limit = text("limit"); !streams::parse_bytes(limit, &settings.limit))
    return host->fail(host, CONSORT_E_INVAL, ("opencl: limit = \"" + limit + "\" is not a size: write bytes, or 512M, 2G").c_str());
  return CONSORT_OK;
}

// From extensions of OpenCL; the first that the device answers.
std::string Driver::place(uint32_t index) const {
  struct Bus {
    cl_uint domain, bus, device, function;
  };
  struct Topology {
    cl_uint type;
    char unused[17], bus, device, function;
  };
  constexpr cl_uint kBusInfo = 0x410f, kTopology = 0x4037, kBusOfNv = 0x4008, kSlotOfNv = 0x4009, kDomainOfNv = 0x400a;
  const cl_device_id id = devices[index].device;
  Bus b{};
  if (api.clGetDeviceInfo(id, kBusInfo, sizeof b, &b, nullptr) == CL_SUCCESS) return streams::bus_address(b.domain, b.bus, b.device, b.function);
  Topology t{};
  if (api.clGetDeviceInfo(id, kTopology, sizeof t, &t, nullptr) == CL_SUCCESS && t.type == 1)
    return streams::bus_address(0, static_cast<unsigned char>(t.bus), static_cast<unsigned char>(t.device), static_cast<unsigned char>(t.function));
  cl_uint bus = 0, slot = 0;
  if (api.clGetDeviceInfo(id, kBusOfNv, sizeof bus, &bus, nullptr) != CL_SUCCESS ||
      api.clGetDeviceInfo(id, kSlotOfNv, sizeof slot, &slot, nullptr) != CL_SUCCESS)
    return "";
  return streams::bus_address(value_of<cl_uint>(api.clGetDeviceInfo, id, kDomainOfNv), bus, slot >> 3, slot & 7);
}

consort_status Driver::start() {
  if (by_default && !has_vendor()) return host->fail(host, CONSORT_E_UNSUPPORTED, "opencl: no device: no vendor's platform is installed");
  std::string why;
  if (!api.open(text("library").c_str(), &why))
    return host->fail(host, CONSORT_E_UNSUPPORTED, ("opencl: no device: " + why).c_str());
  return choose(*this, text("types"), text("platforms"), text("devices"));
}

std::string Driver::text(const char *key) const {
  const char *v = host->param(host, key);
  return v ? v : "";
}

// -- the table --------------------------------------------------------------------------------------------------------

namespace {

using Table = streams::Table<Driver, Device, Lane>;

constexpr consort_param params[] = {
    {"library", "string", "libOpenCL.so.1", nullptr, "the loader's library: a name or a path"},
    {"types", "list", "gpu,accelerator", nullptr,
     "kinds of devices: gpu, accelerator, cpu (the host's own cores again), custom, all"},
    {"platforms", "list", "", nullptr, "platforms by number or part of their name; empty: all"},
    {"devices", "list", "", nullptr, "devices by number over all platforms, or part of their name, of any type; empty: all of `types`"},
    {"limit", "string", "0", nullptr, "memory used per device: bytes, 512M, 2G; 0: all"},
    {"units", "u32", "1", "1..16", "units per device, each with its own queue: kernels that may run concurrently"},
    {"depth", "u32", "16", "1..4096", "ops in flight per queue"},
    {"options", "string", "", nullptr, "options of the kernel compiler, such as \"-cl-fast-relaxed-math\""},
    {"folders", "string", "", nullptr, "folders of kernel files, separated by :, searched before the working directory"},
    {"cache", "string", "auto", nullptr, "folder of built kernels; auto: consort/opencl in the user's cache; off: none"},
    {"any_order", "bool", "true", nullptr, "copies may overtake one another, if the device has out-of-order queues"},
    {"profiling", "bool", "true", nullptr, "queues with timestamps of ops"},
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME | CONSORT_PF_PROBED | CONSORT_PF_LAST, .name = "opencl", .version = "0.1.0",
    .summary = "OpenCL devices: a space and units per device, kernels from source", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &Table::ops, .init = Table::init, .quiesce = nullptr, .fini = Table::fini, .get = Table::get,
};

}  // namespace
}  // namespace opencl

CONSORT_MODULE(opencl, DRIVER, CONSORT_PF_BY_NAME | CONSORT_PF_PROBED | CONSORT_PF_LAST, "opencl", "0.1.0", opencl::plugin);
CONSORT_DEVICES(opencl, "opencl", "/sys/bus/pci/drivers/i915/*:* /sys/bus/pci/drivers/xe/*:* /sys/bus/pci/drivers/amdgpu/*:* "
                "/sys/bus/pci/drivers/nvidia/*:* /dev/mali[0-9]* /dev/kgsl-3d0");
