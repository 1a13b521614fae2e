// Built kernels that are cached on disk, and names of kernel files. Input: a byte; 0: the file as it is, else the
// contents behind a valid head.
#include "fuzz.hpp"
#include "plugins/drivers/streams/kernel_cache.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::MemoryFile file;
  fuzz::Bytes in(data, size);
  const bool framed = in.flag();
  const std::string key = "device text options", rest(in.rest());
  file.set(framed ? "consort-kernel 1 " + streams::hex(key) + " " + streams::hex(rest) + "\n" + rest : rest);
  std::string binary;
  const bool good = streams::read_cached(file.path(), key, &binary);
  fuzz::expect(!framed || (good && binary == rest), "a kernel that was kept is read");
  fuzz::expect(!streams::read_cached(file.path(), "another key", &binary), "a kernel of another key is not taken");
  std::string text, where, why;
  const bool found = streams::find_kernel("no/" + rest, "/nonexistent:" + rest, "cuda", &text, &where, &why);
  fuzz::expect(found || !why.empty(), "a refusal has a text");
  return 0;
}
