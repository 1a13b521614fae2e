// Control messages of another rank: decode() takes no length or kind that the rest of the kernel could not bear.
#include <array>

#include "fuzz.hpp"
#include "kernel/remote/wire.hpp"

using namespace consort;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Control c;
  if (!decode(std::as_bytes(std::span(data, size)), &c)) return 0;
  fuzz::expect(c.kind >= Control::kOffer && c.kind <= Control::kSeen, "the kind is known");
  fuzz::expect(c.payload == size - kControlHead && c.payload <= kMostPayload, "the payload is there");
  fuzz::expect(c.status <= CONSORT_OK && c.status >= CONSORT_E_STOPPED, "the status is one of the ABI");
  fuzz::expect(!(c.flags & Control::kPayload) || c.bytes == c.payload, "short contents have the length of the payload");
  fuzz::expect(!(c.flags & Control::kFailed) || c.status < 0, "a failure has a status");
  std::array<std::byte, kControlHead> again;
  encode(c, again);
  fuzz::expect(std::memcmp(again.data(), data, kControlHead) == 0, "what is taken has one form");
  return 0;
}
