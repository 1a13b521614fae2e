// code_object.hpp — what a code object says of its kernels, for HIP's library cannot tell: names, and what each one's
// parameters take.
//
// Plain functions; any thread. An image that is not understood (compressed, newer) has no kernels here, and is loaded all
// the same.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hip {

struct Kernel {
  std::string name;
  bool knows_params = false;
  std::vector<uint64_t> params;  // bytes of each that the source has; what the compiler adds is not among them
};

// image: ELF, or a bundle of several from clang, of which one is looked at: all have the same kernels.
std::vector<Kernel> kernels_of(const std::string &image);

}  // namespace hip
