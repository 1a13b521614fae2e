#include "programs.hpp"

#include <cstring>

#include "../streams/kernel_cache.hpp"
#include "device.hpp"

namespace opencl {

struct Programs::Input {
  std::string format;  // "cl", "spir", "spirv", "binary"
  std::string text, options, label;
};

Programs::Programs(Device &d) : dev_(d) {
  const auto of_device = [&](cl_uint what) { return text_of(d.api.clGetDeviceInfo, d.id, what) + "\n"; };
  const cl_platform_id platform = d.driver.devices[d.index].platform;
  cache_key_ = text_of(d.api.clGetPlatformInfo, platform, CL_PLATFORM_NAME) + "\n" +
         text_of(d.api.clGetPlatformInfo, platform, CL_PLATFORM_VERSION) + "\n" + of_device(CL_DEVICE_NAME) +
         of_device(CL_DEVICE_VERSION) + of_device(CL_DRIVER_VERSION);
}

Programs::~Programs() {
  for (auto &[key, p] : programs_) dev_.api.clReleaseProgram(p);
}

// Replaces a path by the file's contents; the file's name gives the format.
consort_status Programs::read(Input &in, std::string *why) const {
  in.options = dev_.driver.settings.options;
  in.label = "the " + in.format + " text of the codelet";
  if (in.format != "file") return CONSORT_OK;
  const std::string path = in.text;
  if (!streams::find_kernel(path, dev_.driver.settings.folders, Driver::kName, &in.text, &in.label, why)) return CONSORT_E_INVAL;
  if (streams::ends_with(path, ".spv")) in.format = "spirv";
  else if (streams::ends_with(path, ".bc") || streams::ends_with(path, ".spir")) in.format = "spir";
  else if (streams::ends_with(path, ".bin") || streams::ends_with(path, ".ptx") || streams::ends_with(path, ".clbin")) in.format = "binary";
  else in.format = "cl";
  if (in.format == "cl")
    if (const size_t slash = in.label.rfind('/'); slash != std::string::npos)
      in.options += (in.options.empty() ? "" : " ") + std::string("-I ") + in.label.substr(0, slash);
  return CONSORT_OK;
}

cl_program Programs::from_binary(const std::string &binary, cl_int *e) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(binary.data());
  const size_t n = binary.size();
  cl_int status = CL_SUCCESS;
  cl_program p = dev_.api.clCreateProgramWithBinary(dev_.context, 1, &dev_.id, &n, &bytes, &status, e);
  if (*e == CL_SUCCESS && status != CL_SUCCESS) *e = status;
  if (*e == CL_SUCCESS) return p;
  if (p) dev_.api.clReleaseProgram(p);
  return nullptr;
}

consort_status Programs::compile(cl_program p, const Input &in, const char *extra, std::string *why) {
  const cl_int e = dev_.api.clBuildProgram(p, 1, &dev_.id, (in.options + extra).c_str(), nullptr, nullptr);
  if (e == CL_SUCCESS) return CONSORT_OK;
  size_t n = 0;
  std::string log;
  if (dev_.api.clGetProgramBuildInfo(p, dev_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &n) == CL_SUCCESS && n) {
    log.resize(n);
    dev_.api.clGetProgramBuildInfo(p, dev_.id, CL_PROGRAM_BUILD_LOG, n, log.data(), nullptr);
    log.resize(std::strlen(log.c_str()));
  }
  *why = in.label + " does not compile (" + name(e) + (in.options.empty() ? "" : ", options \"" + in.options + "\"") + ")" +
         (log.empty() ? ", without compiler output" : ":\n" + log);
  const consort_status s = status_of(e);
  return s == CONSORT_E_NOMEM || s == CONSORT_E_DEVICE_LOST || s == CONSORT_E_UNSUPPORTED ? s : CONSORT_E_INVAL;
}

cl_program Programs::from_cache(const std::string &file, const std::string &key) {
  std::string binary;
  if (!streams::read_cached(file, key, &binary)) return nullptr;
  cl_int e = CL_SUCCESS;
  cl_program p = from_binary(binary, &e);
  if (!p) return nullptr;
  if (dev_.api.clBuildProgram(p, 1, &dev_.id, dev_.driver.settings.options.c_str(), nullptr, nullptr) == CL_SUCCESS) return p;
  dev_.api.clReleaseProgram(p);
  return nullptr;
}

void Programs::to_cache(const std::string &file, const std::string &key, cl_program p) {
  size_t n = 0;
  if (dev_.api.clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, nullptr) != CL_SUCCESS || n == 0) return;
  std::string binary(n, '\0');
  auto *bytes = reinterpret_cast<unsigned char *>(binary.data());
  if (dev_.api.clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, nullptr) != CL_SUCCESS) return;
  if (!streams::write_cached(file, key, binary))
    dev_.driver.host->log(dev_.driver.host, 3, ("opencl: " + file + " cannot be written: kernels are compiled at every start").c_str());
}

consort_status Programs::build(const Input &in, cl_program *out, std::string *why) {
  cl_int e = CL_SUCCESS;
  cl_program p = nullptr;
  const char *extra = "";
  std::string file, key;
  if (in.format == "cl") {
    // Included files may change: a program with include directives is not cached on disk.
    const bool keep = !dev_.driver.settings.cache.empty() && in.text.find("#include") == std::string::npos;
    key = cache_key_ + in.options + "\n" + in.text;
    if (keep) file = dev_.driver.settings.cache + "/" + streams::hex(key) + ".bin";
    if (keep && (*out = from_cache(file, key))) return CONSORT_OK;
    const char *text = in.text.c_str();
    const size_t n = in.text.size();
    p = dev_.api.clCreateProgramWithSource(dev_.context, 1, &text, &n, &e);
  } else if (in.format == "spirv") {
    if (!dev_.api.clCreateProgramWithIL) {
      *why = in.label + " is SPIR-V, which this OpenCL library does not support: give source (\"cl\")";
      return CONSORT_E_UNSUPPORTED;
    }
    p = dev_.api.clCreateProgramWithIL(dev_.context, in.text.data(), in.text.size(), &e);
  } else if (in.format == "spir" || in.format == "binary") {
    if (in.format == "spir") extra = " -x spir -spir-std=1.2";
    p = from_binary(in.text, &e);
  } else {
    *why = "format \"" + in.format + "\" is unknown; known are \"cl\", \"file\", \"spirv\", \"spir\" and \"binary\"";
    return CONSORT_E_UNSUPPORTED;
  }
  if (!p || e != CL_SUCCESS) {
    *why = in.label + " was refused: " + name(e);
    const consort_status s = status_of(e);
    return s == CONSORT_E_NOMEM || s == CONSORT_E_DEVICE_LOST ? s : in.format == "cl" ? CONSORT_E_INVAL : CONSORT_E_UNSUPPORTED;
  }
  if (const consort_status s = compile(p, in, extra, why); s < 0) {
    dev_.api.clReleaseProgram(p);
    return s;
  }
  if (!file.empty()) to_cache(file, key, p);
  *out = p;
  return CONSORT_OK;
}

consort_status Programs::load(std::string format, const void *text, uint64_t n, const std::string &entry, const Code **out,
                              std::string *why) {
  Input in{std::move(format), std::string(static_cast<const char *>(text), n), {}, {}};
  if (const consort_status s = read(in, why); s < 0) return s;
  const std::string key = in.format + "\n" + in.options + "\n" + in.text;
  auto at = programs_.find(key);
  if (at == programs_.end()) {
    cl_program p = nullptr;
    if (const consort_status s = build(in, &p, why); s < 0) return s;
    at = programs_.emplace(key, p).first;
  }
  const cl_program p = at->second;
  const std::string names = text_of(dev_.api.clGetProgramInfo, p, CL_PROGRAM_KERNEL_NAMES);
  std::string kernel = entry;
  if (kernel.empty() && names.find(';') == std::string::npos) kernel = names;
  auto &code = codes_[{p, kernel}];
  if (!code) {
    cl_int e = CL_SUCCESS;
    cl_kernel k = kernel.empty() ? nullptr : dev_.api.clCreateKernel(p, kernel.c_str(), &e);
    if (!k || e != CL_SUCCESS) {
      codes_.erase({p, kernel});
      *why = kernel.empty() ? in.label + " has several kernels: set entry to one of \"" + names + "\""
                            : in.label + " has no kernel \"" + kernel + "\" (" + name(e) + "): its kernels are \"" + names + "\"";
      return CONSORT_E_INVAL;
    }
    code = std::make_unique<Code>(Code{p, kernel, static_cast<uint32_t>(codes_.size() - 1),
                                       value_of<cl_uint>(dev_.api.clGetKernelInfo, k, CL_KERNEL_NUM_ARGS), 0});
    size_t largest = 0;
    dev_.api.clGetKernelWorkGroupInfo(k, dev_.id, CL_KERNEL_WORK_GROUP_SIZE, sizeof largest, &largest, nullptr);
    code->largest = largest;
    dev_.api.clReleaseKernel(k);
  }
  *out = code.get();
  return CONSORT_OK;
}

}  // namespace opencl
