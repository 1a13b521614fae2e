// SPIR-V, as the double of Level Zero reads it.
#include "fuzz.hpp"
#include "tests/doubles/level_zero/spirv.hpp"

using namespace ze_double;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint32_t> words(size / 4);
  if (!words.empty()) std::memcpy(words.data(), data, words.size() * 4);
  std::string log;
  const auto program = spirv::parse(std::move(words), &log);
  if (!program) {
    fuzz::expect(!log.empty(), "a refusal has a text");
    return 0;
  }
  for (const auto &[id, place] : program->labels) fuzz::expect(id < program->bound && place < program->code.size(), "a label has a place");
  return 0;
}
