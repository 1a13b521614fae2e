// Configuration texts: TOML to keys and lines.
#include "fuzz.hpp"
#include "kernel/plugin/config_file.hpp"

using namespace consort;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzz::Copy copy({reinterpret_cast<const char *>(data), size});
  auto lines = read_toml({copy.data(), size}, "file x");
  if (!lines) {
    fuzz::expect_refusal(lines.error().status, lines.error().text);
    fuzz::expect(lines.error().text.starts_with("file x:"), "a refusal names file and line", lines.error().text);
    return 0;
  }
  for (const ConfigLine &l : *lines) {
    fuzz::expect(l.place.starts_with("file x:"), "a key has a place", l.place);
    fuzz::expect(l.key.size() <= size && l.value.size() <= 32 * size, "keys and values come from the text", l.key);
  }
  return 0;
}
