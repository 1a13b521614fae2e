// PTX, as the double of CUDA reads it.
#include "fuzz.hpp"
#include "tests/doubles/ptx.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<ptx::Entry> entries;
  std::string error;
  if (!ptx::parse(std::string(reinterpret_cast<const char *>(data), size), entries, error)) {
    fuzz::expect(error.starts_with("ptx input, line "), "a refusal names the line", error);
    return 0;
  }
  for (const ptx::Entry &e : entries)
    for (const ptx::Instruction &i : e.code) {
      fuzz::expect(i.target <= e.code.size(), "a branch stays in its kernel");
      fuzz::expect(i.predicate < 0 || static_cast<size_t>(i.predicate) < e.registers, "a predicate is a register");
      for (const ptx::Operand &o : i.operands) {
        fuzz::expect(o.kind != ptx::Operand::reg || o.index < e.registers, "a register is one");
        fuzz::expect(o.kind != ptx::Operand::param_at || o.index < e.params.size(), "a parameter is one");
      }
    }
  return 0;
}
