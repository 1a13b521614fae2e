// `consort machine import`: platforms of a JSON file. The driver sim must accept every imported machine.
#include <stdexcept>

#include "fuzz.hpp"
#include "machine_reader.hpp"
#include "tools/commands.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile from, to;
  from.set({reinterpret_cast<const char *>(data), size});
  to.set({});
  try {
    if (tool::run_machine_import(from.path(), "m", to.path(), {}) != 0) return 0;
  } catch (const std::exception &e) {
    fuzz::expect(std::string_view(e.what()).starts_with(from.path()), "a refusal names the file", e.what());
    return 0;
  }
  std::string why;
  fuzz::expect(fuzz::read_machine({{"machine", to.path()}}, &why), "an imported machine is read", why + "\n" + to.text());
  return 0;
}
