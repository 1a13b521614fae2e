// code_object.hpp — kernel metadata of a code object, which HIP's library does not report: names and sizes of
// parameters.
//
// Stateless functions; any thread. An unsupported image (compressed, newer) yields no kernels, and is loaded
// without these checks.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hip {

struct Kernel {
  std::string name;
  bool knows_params = false;
  std::vector<uint64_t> params;  // bytes of each parameter of the source, without hidden ones of the compiler
};

// image: ELF, or a bundle of several from clang, of which one is read: all have the same kernels.
std::vector<Kernel> kernels_of(const std::string &image);

}  // namespace hip
