// level_zero.cpp — the driver of Level Zero devices: selection of devices, settings, table.
//
// init() opens the loader's library and queries all drivers; without a device it returns E_UNSUPPORTED and one line that
// says why. No state except Driver, which the kernel holds.
#include <cstdlib>
#include <mutex>

#include "../streams/kernel_cache.hpp"
#include "../streams/settings.hpp"
#include "lane.hpp"

namespace level_zero {
namespace {

// -- selection of devices-----------------------------------------------------------------------------------------------

using streams::split, streams::chosen;

const char *type_name(ze_device_type_t type) noexcept {
  switch (type) {
    case ZE_DEVICE_TYPE_GPU: return "gpu";
    case ZE_DEVICE_TYPE_CPU: return "cpu";
    case ZE_DEVICE_TYPE_FPGA: return "fpga";
    case ZE_DEVICE_TYPE_VPU: return "vpu";
    default: return "other";
  }
}

consort_status choose(Driver &d, const std::string &types, const std::string &devices) {
  const auto nothing = [&](consort_status s, const std::string &why) {
    return d.host->fail(d.host, s, ("level_zero: no device: " + why).c_str());
  };
  const auto wanted_types = split(types), wanted_devices = split(devices);
  for (const std::string &t : wanted_types)
    if (t != "gpu" && t != "cpu" && t != "fpga" && t != "vpu" && t != "all")
      return d.host->fail(d.host, CONSORT_E_INVAL, ("level_zero: types = \"" + types + "\": \"" + t + "\" is not one of gpu, cpu, fpga, vpu, all").c_str());
  const auto of_type = [&](const std::string &type) {
    for (const std::string &t : wanted_types)
      if (t == "all" || t == type) return true;
    return false;
  };
  // Runtimes may start concurrently, and some drivers do not initialise safely on two threads.
  static constinit std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  // After a failure no other function may be called.
  if (const ze_result_t e = d.api.zeInit(0); e != ZE_RESULT_SUCCESS)
    return nothing(CONSORT_E_UNSUPPORTED, std::string("zeInit() returned ") + name(e) + ": install the vendor's driver (Intel: intel-level-zero-gpu), and check "
                                              "that this user may open /dev/dri/renderD*");
  uint32_t n = 0;
  ze_result_t e = d.api.zeDriverGet(&n, nullptr);
  std::vector<ze_driver_handle_t> drivers(n);
  if (e == ZE_RESULT_SUCCESS && n) e = d.api.zeDriverGet(&n, drivers.data());
  if (e != ZE_RESULT_SUCCESS || n == 0) return nothing(CONSORT_E_UNSUPPORTED, std::string("no vendor's driver is installed (") + name(e) + ")");
  drivers.resize(n);
  std::string others;
  uint32_t number = 0;  // over all drivers, before selection
  for (ze_driver_handle_t driver : drivers) {
    uint32_t have = 0;
    if (d.api.zeDeviceGet(driver, &have, nullptr) != ZE_RESULT_SUCCESS) have = 0;
    std::vector<ze_device_handle_t> list(have);
    if (have && d.api.zeDeviceGet(driver, &have, list.data()) != ZE_RESULT_SUCCESS) have = 0;
    for (uint32_t i = 0; i < have; ++i, ++number) {
      auto about = typed<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
      const ze_result_t told = d.api.zeDeviceGetProperties(list[i], &about);
      about.name[sizeof about.name - 1] = 0;
      const std::string label = about.name, type = type_name(about.type);
      std::string why;
      if (told != ZE_RESULT_SUCCESS) why = std::string("cannot query its properties: ") + name(told);
      else if (!chosen(wanted_devices, number, label)) why = "not in level_zero.devices";
      else if (wanted_devices.empty() && !of_type(type)) why = "of type " + type + ", which is not in level_zero.types";
      if (why.empty()) d.devices.push_back({driver, list[i], label});
      else others += (others.empty() ? "" : "; ") + std::to_string(number) + " \"" + label + "\": " + why;
    }
  }
  if (d.devices.empty())
    return nothing(CONSORT_E_UNSUPPORTED, others.empty() ? std::to_string(n) + (n == 1 ? " driver, without a device" : " drivers, without a device") : "not selected: " + others);
  if (!others.empty()) d.host->log(d.host, 3, ("level_zero: not selected: " + others).c_str());
  return CONSORT_OK;
}

}  // namespace

// -- life -------------------------------------------------------------------------------------------------------------

consort_status Driver::read() {
  const auto number = [&](const char *key) { return static_cast<uint32_t>(std::strtoul(text(key).c_str(), nullptr, 10)); };
  by_default = streams::is_by_default(host);
  settings.units = number("units");
  settings.depth = number("depth");
  settings.copy_engines = number("copy_engines");
  settings.shared = text("shared") == "true";
  settings.options = text("options");
  settings.folders = text("folders");
  settings.cache = streams::cache_folder(text("cache"), kName);
  if (const std::string limit = text("limit"); !streams::parse_bytes(limit, &settings.limit))
    return host->fail(host, CONSORT_E_INVAL, ("level_zero: limit = \"" + limit + "\" is not a size: write bytes, or 512M, 2G").c_str());
  return CONSORT_OK;
}

std::string Driver::place(uint32_t index) const {
  auto about = typed<ze_pci_ext_properties_t>(ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
  if (!api.zeDevicePciGetPropertiesExt || api.zeDevicePciGetPropertiesExt(devices[index].device, &about) != ZE_RESULT_SUCCESS) return "";
  const ze_pci_address_ext_t &a = about.address;
  return streams::bus_address(a.domain, a.bus, a.device, a.function);
}

consort_status Driver::start() {
  std::string why;
  if (!api.open(text("library").c_str(), &why))
    return host->fail(host, CONSORT_E_UNSUPPORTED, ("level_zero: no device: " + why).c_str());
  return choose(*this, text("types"), text("devices"));
}

Driver::~Driver() {
  for (auto &[driver, context] : contexts) api.zeContextDestroy(context);
}

ze_result_t Driver::context_of(ze_driver_handle_t driver, ze_context_handle_t *out) {
  ze_context_handle_t &context = contexts[driver];
  const auto desc = typed<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  const ze_result_t e = context ? ZE_RESULT_SUCCESS : api.zeContextCreate(driver, &desc, &context);
  *out = context;
  if (e != ZE_RESULT_SUCCESS) contexts.erase(driver);
  return e;
}

std::string Driver::text(const char *key) const {
  const char *v = host->param(host, key);
  return v ? v : "";
}

// -- the table --------------------------------------------------------------------------------------------------------

namespace {

using Table = streams::Table<Driver, Device, Lane>;

constexpr consort_param params[] = {
    {"library", "string", "libze_loader.so.1", nullptr, "the loader's library: a name or a path"},
    {"types", "list", "gpu", nullptr, "kinds of devices: gpu, fpga, vpu, cpu (the host's own cores again), all"},
    {"devices", "list", "", nullptr, "devices by number over all drivers, or part of their name, of any type; empty: all of `types`"},
    {"limit", "string", "0", nullptr, "memory used per device: bytes, 512M, 2G; 0: all"},
    {"shared", "bool", "false", nullptr, "device memory whose pages migrate to the host and back"},
    {"units", "u32", "1", "1..16", "units per device, each with its own list: kernels that may run concurrently"},
    {"depth", "u32", "16", "1..4096", "ops in flight per queue"},
    {"copy_engines", "u32", "2", "0..64", "number of copy engines to use, if available; 0: copies use the compute engines"},
    {"options", "string", "", nullptr, "options of the kernel compiler, such as \"-ze-opt-level=2\""},
    {"folders", "string", "", nullptr, "folders of kernel files, separated by :, searched before the working directory"},
    {"cache", "string", "auto", nullptr, "folder of built kernels; auto: consort/level_zero in the user's cache; off: none"},
};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_DRIVER,
    .abi_major = CONSORT_DRIVER_MAJOR, .abi_minor = CONSORT_DRIVER_MINOR,
    .flags = CONSORT_PF_BY_NAME | CONSORT_PF_PROBED, .name = "level_zero", .version = "0.1.0",
    .summary = "Level Zero devices: a space and units per device, kernels from SPIR-V", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0,
    .ops = &Table::ops, .init = Table::init, .quiesce = nullptr, .fini = Table::fini, .get = Table::get,
};

}  // namespace
}  // namespace level_zero

CONSORT_MODULE(level_zero, DRIVER, CONSORT_PF_BY_NAME | CONSORT_PF_PROBED, "level_zero", "0.1.0", level_zero::plugin);
CONSORT_DEVICES(level_zero, "level_zero", "/sys/bus/pci/drivers/i915/*:* /sys/bus/pci/drivers/xe/*:*");
