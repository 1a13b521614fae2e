// Modules: compiled kernels. The core takes images of host code (image.h); a front may add forms of its own.
#pragma once
#include "work.hpp"

namespace gpu {

struct Module : Object {
  std::shared_ptr<Context> context;
  std::vector<std::shared_ptr<Function>> functions;
};

// The context's module, loaded from these bytes, whose length their own header says. Throws invalid_image,
// no_binary_for_gpu, or the refusal of a program's text; `log` then says why.
std::shared_ptr<Module> load_module(const std::shared_ptr<Context> &context, const void *image, std::string &log);
void unload(Lock &lock, const std::shared_ptr<Module> &module);

}  // namespace gpu
