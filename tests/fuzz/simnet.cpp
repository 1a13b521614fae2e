// What the transport simnet reads: the description of a network, and turns and grants between processes. Input: a byte that
// says which, then the text or the bytes. What was read is written again and equals what was read.
#include "plugins/transports/simnet/wire.hpp"

#include "fuzz.hpp"

namespace {

void read_network(std::string_view text) {
  try {
    const simnet::Network net = simnet::Network::read("f", std::string(text));
    const simnet::Wires wires(net, 7);
    for (uint32_t r = 0; r < 7; ++r) {
      const auto path = wires.path(0, r);
      fuzz::expect(path.n > 0 && path.n <= path.hops.size(), "a path fits its room");
    }
  } catch (const std::string &why) {
    fuzz::expect(!why.empty(), "a refusal has a text");
  }
}

template <class T>
void read_bytes(std::string_view text) {
  T it, again;
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  if (!simnet::decode(bytes, &it)) return;
  const simnet::Bytes out = simnet::encode(it);
  fuzz::expect(std::equal(out.begin(), out.end(), bytes.begin(), bytes.end()), "what was read is written again");
  fuzz::expect(simnet::decode(out, &again), "what was written is read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size) return 0;
  const std::string_view rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (data[0] % 3 == 0) read_network(rest);
  else if (data[0] % 3 == 1) read_bytes<simnet::Turn>(rest);
  else read_bytes<simnet::Grant>(rest);
  return 0;
}
