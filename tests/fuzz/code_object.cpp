// Code objects of AMD's compilers: bundles, ELF notes, MessagePack.
#include "fuzz.hpp"
#include "plugins/drivers/hip/code_object.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const auto kernels = hip::kernels_of(std::string(reinterpret_cast<const char *>(data), size));
  size_t all = 0;
  for (const hip::Kernel &k : kernels) all += k.name.size() + k.params.size();
  fuzz::expect(all <= size, "kernels and parameters come from the image");
  return 0;
}
