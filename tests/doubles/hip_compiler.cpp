// The front of hiprtc: its functions over nvrtc_program.hpp, for the language is the same. A program belongs to its
// creator; two threads may work on two programs at once.
#include <hip/hiprtc.h>

#include <cstring>
#include <iterator>

#include "hip_bundle.hpp"
#include "nvrtc_program.hpp"

using nvrtc::Program;

namespace {

Program *of(hiprtcProgram handle) { return reinterpret_cast<Program *>(handle); }

hiprtcResult give_size(hiprtcProgram handle, const std::string &text, size_t extra, size_t *size) {
  if (!handle || !size) {
    return HIPRTC_ERROR_INVALID_INPUT;
  }
  *size = text.size() + extra;
  return HIPRTC_SUCCESS;
}

hiprtcResult give(hiprtcProgram handle, const std::string &text, size_t extra, char *out) {
  if (!handle || !out) {
    return HIPRTC_ERROR_INVALID_INPUT;
  }
  std::memcpy(out, text.c_str(), text.size() + extra);
  return HIPRTC_SUCCESS;
}

}  // namespace

hiprtcResult hiprtcVersion(int *major, int *minor) {
  *major = 9;
  *minor = 0;
  return HIPRTC_SUCCESS;
}

const char *hiprtcGetErrorString(hiprtcResult result) {
  static const char *const names[] = {"HIPRTC_SUCCESS",
                                      "HIPRTC_ERROR_OUT_OF_MEMORY",
                                      "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                      "HIPRTC_ERROR_INVALID_INPUT",
                                      "HIPRTC_ERROR_INVALID_PROGRAM",
                                      "HIPRTC_ERROR_INVALID_OPTION",
                                      "HIPRTC_ERROR_COMPILATION",
                                      "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE"};
  return static_cast<size_t>(result) < std::size(names) ? names[result] : "HIPRTC_ERROR_INTERNAL_ERROR";
}

hiprtcResult hiprtcCreateProgram(hiprtcProgram *handle, const char *source, const char *name, int count,
                                 const char **headers, const char **names) {
  if (!handle || !source || count < 0 || (count > 0 && (!headers || !names))) {
    return HIPRTC_ERROR_INVALID_INPUT;
  }
  auto *program = new Program;
  program->source = source;
  program->name = name ? name : "";
  for (int i = 0; i < count; ++i) {
    program->headers.emplace_back(names[i], headers[i]);
  }
  *handle = reinterpret_cast<hiprtcProgram>(program);
  return HIPRTC_SUCCESS;
}

hiprtcResult hiprtcDestroyProgram(hiprtcProgram *handle) {
  if (!handle || !*handle) {
    return HIPRTC_ERROR_INVALID_PROGRAM;
  }
  delete of(*handle);
  *handle = nullptr;
  return HIPRTC_SUCCESS;
}

// Without a word of the device that it is for, the real one asks for a device, and there is none where it compiles alone.
hiprtcResult hiprtcCompileProgram(hiprtcProgram handle, int count, const char **options) {
  if (!handle || count < 0 || (count > 0 && !options)) {
    return HIPRTC_ERROR_INVALID_INPUT;
  }
  bool for_device = false;
  for (int i = 0; i < count; ++i) {
    for_device = for_device || std::strncmp(options[i], "--offload-arch=gfx", 18) == 0;
  }
  Program &program = *of(handle);
  if (!for_device) {
    program.log = "hiprtc: error: no --offload-arch\n";
    return HIPRTC_ERROR_INVALID_OPTION;
  }
  if (int error = nvrtc::compile(program, {options, options + count})) {
    return static_cast<hiprtcResult>(error);
  }
  program.image = gpu::bundle_of(program.image);
  return program.image.empty() ? HIPRTC_ERROR_INTERNAL_ERROR : HIPRTC_SUCCESS;
}

hiprtcResult hiprtcGetCodeSize(hiprtcProgram handle, size_t *size) {
  return give_size(handle, handle ? of(handle)->image : std::string(), 0, size);
}

hiprtcResult hiprtcGetCode(hiprtcProgram handle, char *code) {
  return give(handle, handle ? of(handle)->image : std::string(), 0, code);
}

hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram handle, size_t *size) {
  return give_size(handle, handle ? of(handle)->log : std::string(), 1, size);
}

hiprtcResult hiprtcGetProgramLog(hiprtcProgram handle, char *log) {
  return give(handle, handle ? of(handle)->log : std::string(), 1, log);
}
