// The front of NVIDIA's run-time compiler: its functions over nvrtc_program.hpp. A program belongs to its creator; two
// threads may work on two programs at once.
#include <nvrtc.h>

#include <cstring>
#include <mutex>
#include <set>

#include "nvrtc_program.hpp"

using nvrtc::Program;

namespace {

std::mutex mutex;

std::set<Program *> &alive() {
  static auto *all = new std::set<Program *>;
  return *all;
}

Program *find(nvrtcProgram handle) {
  auto *program = reinterpret_cast<Program *>(handle);
  std::lock_guard lock(mutex);
  return alive().contains(program) ? program : nullptr;
}

nvrtcResult give_size(const Program *program, const std::string &text, bool there, size_t *size) {
  if (!program || !there) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  if (!size) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  *size = text.size() + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult give(const Program *program, const std::string &text, bool there, char *out) {
  size_t size;
  nvrtcResult result = give_size(program, text, there, &size);
  if (result == NVRTC_SUCCESS && out) {
    std::memcpy(out, text.c_str(), size);
  }
  return out || result ? result : NVRTC_ERROR_INVALID_INPUT;
}

const std::string nothing;

const std::string &image(const Program *program) { return program ? program->image : nothing; }

bool there(const Program *program) { return program && program->compiled; }

}  // namespace

nvrtcResult nvrtcVersion(int *major, int *minor) {
  if (!major || !minor) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  if (!count) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  *count = 4;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *archs) {
  if (!archs) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  for (int arch : {75, 80, 90, 100}) {
    *archs++ = arch;
  }
  return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result) {
  static const char *const names[] = {"NVRTC_SUCCESS",
                                      "NVRTC_ERROR_OUT_OF_MEMORY",
                                      "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                      "NVRTC_ERROR_INVALID_INPUT",
                                      "NVRTC_ERROR_INVALID_PROGRAM",
                                      "NVRTC_ERROR_INVALID_OPTION",
                                      "NVRTC_ERROR_COMPILATION",
                                      "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                      "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                      "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                      "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                      "NVRTC_ERROR_INTERNAL_ERROR"};
  return static_cast<size_t>(result) < std::size(names) ? names[result] : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *handle, const char *source, const char *name, int count,
                               const char *const *headers, const char *const *names) {
  if (!handle || !source || count < 0 || (count > 0 && (!headers || !names))) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  auto *program = new Program;
  program->source = source;
  program->name = name ? name : "";
  for (int i = 0; i < count; ++i) {
    program->headers.emplace_back(names[i], headers[i]);
  }
  std::lock_guard lock(mutex);
  alive().insert(program);
  *handle = reinterpret_cast<nvrtcProgram>(program);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle) {
  Program *program = handle ? find(*handle) : nullptr;
  if (!program) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  std::lock_guard lock(mutex);
  alive().erase(program);
  delete program;
  *handle = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char *const *options) {
  Program *program = find(handle);
  if (!program) {
    return NVRTC_ERROR_INVALID_PROGRAM;
  }
  if (count < 0 || (count > 0 && !options)) {
    return NVRTC_ERROR_INVALID_INPUT;
  }
  return static_cast<nvrtcResult>(nvrtc::compile(*program, {options, options + count}));
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, size_t *size) {
  Program *program = find(handle);
  return give_size(program, image(program), there(program), size);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char *ptx) {
  Program *program = find(handle);
  return give(program, image(program), there(program), ptx);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t *size) { return nvrtcGetPTXSize(handle, size); }

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char *cubin) { return nvrtcGetPTX(handle, cubin); }

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t *size) {
  Program *program = find(handle);
  return give_size(program, program ? program->log : nothing, program, size);
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char *log) {
  Program *program = find(handle);
  return give(program, program ? program->log : nothing, program, log);
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram handle, const char *expression) {
  Program *program = find(handle);
  if (!program || !expression) {
    return program ? NVRTC_ERROR_INVALID_INPUT : NVRTC_ERROR_INVALID_PROGRAM;
  }
  if (program->compiled) {
    return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
  }
  program->expressions.emplace_back(expression);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram handle, const char *expression, const char **lowered) {
  Program *program = find(handle);
  if (!program || !expression || !lowered) {
    return program ? NVRTC_ERROR_INVALID_INPUT : NVRTC_ERROR_INVALID_PROGRAM;
  }
  if (!program->compiled) {
    return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
  }
  auto at = program->lowered.find(expression);
  if (at == program->lowered.end()) {
    return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
  }
  *lowered = at->second.c_str();
  return NVRTC_SUCCESS;
}
