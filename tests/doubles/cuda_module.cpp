// Modules, functions and launches.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "cuda_kernel.hpp"

using namespace gpu;

namespace {

std::shared_ptr<Module> module_of(CUmodule module) { return object(machine().modules, module, "the module"); }

CUresult load(const char *name, CUmodule *module, const void *image, unsigned count, CUjit_option *options,
              void **values) {
  std::string log;
  CUresult result = cu(name, Need::context, [&](Call &c) {
    refuse_capturing();
    need(module);
    *module = handle_of<CUmodule>(*load_module(c.context, image, log));
  });
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) {
      buffer = static_cast<char *>(values[i]);
    } else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      size = reinterpret_cast<size_t>(values[i]);
      values[i] = reinterpret_cast<void *>(std::min(size, log.size()));
    } else if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) {
      values[i] = nullptr;
    }
  }
  if (buffer && size) {
    std::snprintf(buffer, size, "%s", log.c_str());
  }
  return result;
}

CUresult launch(const char *name, CUfunction function, const consort_double_launch &how, CUstream where, void **params,
                void **extra) {
  return cu(name, Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    submit(stream, kernel_of(stream->context, function, how, params, extra));
  });
}

}  // namespace

std::shared_ptr<Function> gpu::function_of(CUfunction function) {
  return object(machine().functions, function, "the function");
}

Kernel gpu::kernel_of(const std::shared_ptr<Context> &context, CUfunction handle, const consort_double_launch &how,
                      void **params, void **extra) {
  Kernel kernel = kernel_with(context, function_of(handle), how);
  if (!extra) {
    set_params(kernel, params);
    return kernel;
  }
  size_t size = kernel.params.size() - 8;
  const void *buffer = nullptr;
  size_t given = 0;
  for (void **word = extra; *word != CU_LAUNCH_PARAM_END; word += 2) {
    if (*word == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = word[1];
    } else if (*word == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      given = *static_cast<size_t *>(need(word[1]));
    } else {
      fail(invalid_value);
    }
  }
  if (params || !buffer || given < size) {
    fail(invalid_value);
  }
  std::memcpy(kernel.params.data(), buffer, size);
  return kernel;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return load("cuModuleLoadData", module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values) {
  return load("cuModuleLoadDataEx", module, image, count, options, values);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
  return load("cuModuleLoadFatBinary", module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoad(CUmodule *module, const char *path) {
  std::ifstream file(path ? path : "", std::ios::binary);
  if (!file) {
    return CUDA_ERROR_FILE_NOT_FOUND;
  }
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return load("cuModuleLoad", module, bytes.c_str(), 0, nullptr, nullptr);
}

CUresult cuModuleUnload(CUmodule handle) {
  return cu("cuModuleUnload", Need::cleanup, [&](Call &c) { unload(c.lock, module_of(handle)); });
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle, const char *name) {
  return cu("cuModuleGetFunction", Need::context, [&](Call &) {
    auto module = module_of(handle);
    need(name);
    for (const auto &one : module->functions) {
      if (one->name == name) {
        *need(function) = handle_of<CUfunction>(*one);
        return;
      }
    }
    fail(not_found);
  });
}

CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
  return cu("cuModuleGetFunctionCount", Need::context,
            [&](Call &) { *need(count) = static_cast<unsigned>(module_of(module)->functions.size()); });
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned count, CUmodule handle) {
  return cu("cuModuleEnumerateFunctions", Need::context, [&](Call &) {
    auto module = module_of(handle);
    for (unsigned i = 0; i < count && i < module->functions.size(); ++i) {
      need(functions)[i] = handle_of<CUfunction>(*module->functions[i]);
    }
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *, size_t *, CUmodule handle, const char *) {
  return cu("cuModuleGetGlobal", Need::context, [&](Call &) {
    module_of(handle);
    fail(not_found);
  });
}

CUresult cuFuncGetName(const char **name, CUfunction function) {
  return cu("cuFuncGetName", Need::context, [&](Call &) { *need(name) = function_of(function)->name.c_str(); });
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function) {
  return cu("cuFuncGetModule", Need::context,
            [&](Call &) { *need(module) = handle_of<CUmodule>(*function_of(function)->module.lock()); });
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction handle) {
  return cu("cuFuncGetAttribute", Need::context, [&](Call &) {
    auto function = function_of(handle);
    switch (what) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *need(value) = function->max_threads;
        return;
      case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *need(value) = static_cast<int>(function->static_shared);
        return;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *need(value) = static_cast<int>(function->dynamic_shared);
        return;
      case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *need(value) = 32;
        return;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *need(value) = 90;
        return;
      default:
        *need(value) = 0;
    }
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute what, int value) {
  return cu("cuFuncSetAttribute", Need::context, [&](Call &) {
    auto function = function_of(handle);
    if (what == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
      if (value < 0 || value > (227 << 10) - static_cast<int>(function->static_shared)) {
        fail(invalid_value);
      }
      function->dynamic_shared = static_cast<size_t>(value);
    }
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return cu("cuFuncSetCacheConfig", Need::context, [&](Call &) { function_of(handle); });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *size) {
  return cu("cuFuncGetParamInfo", Need::context, [&](Call &) {
    auto function = function_of(handle);
    if (index >= function->params.size()) {
      fail(invalid_value);
    }
    *need(offset) = function->params[index].offset;
    if (size) {
      *size = function->params[index].size;
    }
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction handle, CUoccupancyB2DSize, size_t,
                                          int limit) {
  return cu("cuOccupancyMaxPotentialBlockSize", Need::context, [&](Call &) {
    auto function = function_of(handle);
    *need(block) = limit > 0 ? std::min(limit, function->max_threads) : function->max_threads;
    *need(grid) = 2 * machine().settings.sms.front();
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction handle, int block, size_t) {
  return cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", Need::context, [&](Call &) {
    function_of(handle);
    *need(blocks) = block > 0 ? std::max(1, std::min(32, 2048 / block)) : (fail(invalid_value), 0);
  });
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void **params, void **extra) {
  return launch("cuLaunchKernel", function, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, params, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra) {
  if (!config) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const CUlaunchConfig &c = *config;
  return launch("cuLaunchKernelEx", function,
                {{c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, c.sharedMemBytes},
                c.hStream, params, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   CUstream, void **) {
  return cu("cuLaunchCooperativeKernel", Need::context, [](Call &) { fail(not_supported); });
}
