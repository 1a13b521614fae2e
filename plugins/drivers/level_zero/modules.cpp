#include "modules.hpp"

#include <algorithm>
#include <cstring>

#include "../streams/kernel_cache.hpp"
#include "device.hpp"
#include "lane.hpp"

namespace level_zero {

struct Modules::Input {
  std::string format;  // "spirv", "native"
  std::string text, options, label;
};

Modules::Modules(Device &d) : dev_(d) {
  auto driver = typed<ze_driver_properties_t>(ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES);
  d.api.zeDriverGetProperties(d.driver.devices[d.index].driver, &driver);
  const auto bytes = [](const uint8_t *p, size_t n) { return std::string(reinterpret_cast<const char *>(p), n) + "\n"; };
  cache_key_ = std::string(d.properties.name) + "\n" + std::to_string(d.properties.deviceId) + "\n" + std::to_string(driver.driverVersion) + "\n" +
         bytes(driver.uuid.id, sizeof driver.uuid.id) + bytes(d.properties.uuid.id, sizeof d.properties.uuid.id);
}

Modules::~Modules() {
  for (auto &[key, m] : modules_) dev_.api.zeModuleDestroy(m.handle);
}

// Replaces a path by the file's contents; the file's name gives the format.
consort_status Modules::read(Input &in, std::string *why) const {
  in.options = dev_.driver.settings.options;
  in.label = "the " + in.format + " code of the codelet";
  if (in.format == "file") {
    const std::string path = in.text;
    if (!streams::find_kernel(path, dev_.driver.settings.folders, Driver::kName, &in.text, &in.label, why)) return CONSORT_E_INVAL;
    in.format = streams::ends_with(path, ".bin") ? "native" : "spirv";
  }
  if (in.format == "native") return CONSORT_OK;
  if (in.format != "spirv") {
    *why = "format \"" + in.format + "\" is unknown; known are \"spirv\", \"file\" and \"native\"";
    return CONSORT_E_UNSUPPORTED;
  }
  constexpr uint32_t kMagic = 0x07230203;
  uint32_t word = 0;
  if (in.text.size() >= sizeof word) std::memcpy(&word, in.text.data(), sizeof word);
  if (word != kMagic || in.text.size() % 4 != 0) {
    *why = in.label + " is not SPIR-V: compile OpenCL C with clang -target spir64 and llvm-spirv (docs/write-a-kernel.md)";
    return CONSORT_E_INVAL;
  }
  return CONSORT_OK;
}

ze_result_t Modules::create(ze_module_format_t format, const std::string &binary, const std::string &options, ze_module_handle_t *out,
                            std::string *log) {
  auto desc = typed<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
  desc.format = format;
  desc.inputSize = binary.size();
  desc.pInputModule = reinterpret_cast<const uint8_t *>(binary.data());
  desc.pBuildFlags = options.c_str();
  ze_module_build_log_handle_t words = nullptr;
  const ze_result_t e = dev_.api.zeModuleCreate(dev_.context, dev_.id, &desc, out, &words);
  if (!words) return e;
  size_t n = 0;
  if (log && dev_.api.zeModuleBuildLogGetString(words, &n, nullptr) == ZE_RESULT_SUCCESS && n) {
    log->resize(n);
    dev_.api.zeModuleBuildLogGetString(words, &n, log->data());
    log->resize(std::strlen(log->c_str()));
  }
  dev_.api.zeModuleBuildLogDestroy(words);
  return e;
}

void Modules::to_cache(const std::string &file, const std::string &key, ze_module_handle_t m) {
  size_t n = 0;
  if (dev_.api.zeModuleGetNativeBinary(m, &n, nullptr) != ZE_RESULT_SUCCESS || n == 0) return;
  std::string binary(n, '\0');
  if (dev_.api.zeModuleGetNativeBinary(m, &n, reinterpret_cast<uint8_t *>(binary.data())) != ZE_RESULT_SUCCESS) return;
  if (!streams::write_cached(file, key, binary))
    dev_.host->log(dev_.host, 3, ("level_zero: " + file + " cannot be written: kernels are compiled at every start").c_str());
}

consort_status Modules::build(const Input &in, ze_module_handle_t *out, std::string *why) {
  std::string log, file, key;
  const bool native = in.format == "native";
  if (const std::string &folder = dev_.driver.settings.cache; !native && !folder.empty()) {
    key = cache_key_ + in.options + "\n" + in.text;
    file = folder + "/" + streams::hex(key) + ".bin";
    std::string binary;
    if (streams::read_cached(file, key, &binary) && create(ZE_MODULE_FORMAT_NATIVE, binary, "", out, nullptr) == ZE_RESULT_SUCCESS)
      return CONSORT_OK;
  }
  const ze_result_t e = create(native ? ZE_MODULE_FORMAT_NATIVE : ZE_MODULE_FORMAT_IL_SPIRV, in.text, in.options, out, &log);
  if (e == ZE_RESULT_SUCCESS) {
    if (!file.empty()) to_cache(file, key, *out);
    return CONSORT_OK;
  }
  *why = in.label + " does not compile (" + name(e) + (in.options.empty() ? "" : ", options \"" + in.options + "\"") + ")" +
         (log.empty() ? ", without compiler output" : ":\n" + log);
  const consort_status s = status_of(e);
  if (native && s == CONSORT_E_INVAL) return CONSORT_E_UNSUPPORTED;  // built for another device
  return s == CONSORT_E_NOMEM || s == CONSORT_E_DEVICE_LOST || s == CONSORT_E_UNSUPPORTED ? s : CONSORT_E_INVAL;
}

consort_status Modules::load(std::string format, const void *text, uint64_t n, const std::string &entry, const Code **out,
                             std::string *why) {
  Input in{std::move(format), std::string(static_cast<const char *>(text), n), {}, {}};
  if (const consort_status s = read(in, why); s < 0) return s;
  const std::string key = in.format + "\n" + in.options + "\n" + in.text;
  auto at = modules_.find(key);
  if (at == modules_.end()) {
    ze_module_handle_t m = nullptr;
    if (const consort_status s = build(in, &m, why); s < 0) return s;
    at = modules_.emplace(key, Module{m, {}}).first;
    uint32_t count = 0;
    std::vector<const char *> names;
    if (dev_.api.zeModuleGetKernelNames(m, &count, nullptr) == ZE_RESULT_SUCCESS && count) {
      names.resize(count);
      if (dev_.api.zeModuleGetKernelNames(m, &count, names.data()) == ZE_RESULT_SUCCESS) at->second.names.assign(names.begin(), names.end());
    }
  }
  const Module &m = at->second;
  std::string all;
  for (const std::string &one : m.names) all += (all.empty() ? "" : ";") + one;
  const std::string kernel = entry.empty() && m.names.size() == 1 ? m.names[0] : entry;
  if (kernel.empty()) {
    *why = m.names.empty() ? in.label + " has no kernel" : in.label + " has several kernels: set entry to one of \"" + all + "\"";
    return CONSORT_E_INVAL;
  }
  auto &code = codes_[{m.handle, kernel}];
  if (!code) {
    auto desc = typed<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
    desc.pKernelName = kernel.c_str();
    ze_kernel_handle_t k = nullptr;
    ze_result_t e = dev_.api.zeKernelCreate(m.handle, &desc, &k);
    auto about = typed<ze_kernel_properties_t>(ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES);
    if (e == ZE_RESULT_SUCCESS) {
      e = dev_.api.zeKernelGetProperties(k, &about);
      dev_.api.zeKernelDestroy(k);
    }
    if (e != ZE_RESULT_SUCCESS) {
      codes_.erase({m.handle, kernel});
      *why = in.label + " has no kernel \"" + kernel + "\" (" + name(e) + "): its kernels are \"" + all + "\"";
      const consort_status s = status_of(e);
      return s == CONSORT_E_NOMEM || s == CONSORT_E_DEVICE_LOST ? s : CONSORT_E_INVAL;
    }
    code = std::make_unique<Code>(Code{m.handle, kernel, static_cast<uint32_t>(codes_.size() - 1), about.numKernelArgs,
                                       {about.requiredGroupSizeX, about.requiredGroupSizeY, about.requiredGroupSizeZ}});
  }
  *out = code.get();
  return CONSORT_OK;
}

}  // namespace level_zero
