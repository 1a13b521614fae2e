// The files of a checkpoint: no length or place is taken that the reader could not bear, and what is taken has one form. The
// first byte chooses the reader. The checksum is made to fit, so that the fuzzer gets behind it.
#include <vector>

#include "fuzz.hpp"
#include "kernel/remote/checkpoint_file.hpp"

using namespace consort;

namespace {

// A copy with a checksum that fits in its last 4 bytes.
std::string sealed(std::string_view in) {
  std::string bytes(in);
  const uint32_t sum = checksum(bytes);
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(sum >> (8 * i));
  return bytes;
}

void manifest(std::string_view in) {
  const std::string bytes = sealed(in);
  const fuzz::Copy copy(bytes);
  CheckpointManifest m;
  std::string why;
  if (!decode({copy.data(), copy.size()}, &m, &why)) return fuzz::expect(!why.empty(), "a refusal has a text");
  fuzz::expect(encode(m) == bytes, "what is taken has one form");
  for (const SavedDatum &d : m.data) {
    fuzz::expect(d.rank < m.parts.size() && d.offset + d.bytes <= m.parts[d.rank].bytes && d.offset + d.bytes >= d.offset, "contents lie in a part");
    fuzz::expect(m.find(d.tag) == &d, "each datum is found by its tag");
  }
}

void part(std::string_view in) {
  fuzz::Bytes from(reinterpret_cast<const uint8_t *>(in.data()), in.size());
  const auto end = from.take<uint64_t>();
  const fuzz::Copy copy(from.rest());
  const std::string_view bytes(copy.data(), copy.size());
  std::vector<SavedDatum> data;
  std::string why;
  if (!decode_index(bytes, checksum(bytes), end, 3, &data, &why)) return fuzz::expect(!why.empty(), "a refusal has a text");
  fuzz::expect(encode_index(data) == bytes, "what is taken has one form");
  for (const SavedDatum &d : data) fuzz::expect(d.offset + d.bytes <= end && d.offset + d.bytes >= d.offset, "contents lie before the index");
}

void trail(std::string_view in) {
  fuzz::Bytes from(reinterpret_cast<const uint8_t *>(in.data()), in.size());
  const auto file = from.take<uint64_t>();
  uint64_t at, bytes;
  uint32_t sum;
  std::string why;
  if (!decode_trail(from.rest(), file, &at, &bytes, &sum, &why)) return fuzz::expect(!why.empty(), "a refusal has a text");
  fuzz::expect(at + bytes + kPartTrail == file && at >= kPartHead, "the index lies in the file");
}

void head(std::string_view in) {
  PartHead h;
  std::string why;
  const std::string bytes = in.size() == kPartHead - 4 ? sealed(in) : std::string(in);
  if (!decode(bytes, &h, &why)) return fuzz::expect(!why.empty(), "a refusal has a text");
  fuzz::expect(encode(h) == bytes, "what is taken has one form");
}

void name(std::string_view in) {
  uint64_t serial;
  uint32_t rank;
  if (read_part_name(in, &serial, &rank)) fuzz::expect(!part_name(serial, rank).empty(), "a part has a name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  constexpr void (*readers[])(std::string_view) = {manifest, part, trail, head, name};
  readers[data[0] % 5]({reinterpret_cast<const char *>(data) + 1, size - 1});
  return 0;
}
