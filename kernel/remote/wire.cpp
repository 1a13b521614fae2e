#include "remote/wire.hpp"

#include <consort/shared/little_endian.hpp>

namespace consort {
namespace {

constexpr std::byte kVersion{1};

}  // namespace

void encode(const Control &c, std::span<std::byte, kControlHead> out) noexcept {
  std::byte *at = out.data();
  const auto put = [&](uint64_t value, size_t bytes) { shared::store_little(at, value, bytes), at += bytes; };
  put(static_cast<uint8_t>(kVersion), 1);
  put(c.kind, 1);
  put(c.flags, 2);
  put(static_cast<uint32_t>(c.status), 4);
  for (const uint64_t word : {c.tag, c.number, c.bytes, c.id, c.answer}) put(word, 8);
  put(c.payload, 4);
  put(c.freed, 4);
}

bool decode(std::span<const std::byte> in, Control *out) noexcept {
  if (in.size() < kControlHead || in.size() > kControlBytes || in[0] != kVersion) return false;
  const std::byte *at = in.data() + 1;
  const auto get = [&](size_t bytes) { return at += bytes, shared::load_little(at - bytes, bytes); };
  const uint64_t kind = get(1);
  if (kind < Control::kOffer || kind > Control::kSeen) return false;
  out->kind = static_cast<Control::Kind>(kind);
  out->flags = static_cast<uint16_t>(get(2));
  out->status = static_cast<consort_status>(static_cast<uint32_t>(get(4)));
  if (out->status > CONSORT_OK || out->status < CONSORT_E_STOPPED) return false;
  for (uint64_t *word : {&out->tag, &out->number, &out->bytes, &out->id, &out->answer}) *word = get(8);
  out->payload = static_cast<uint32_t>(get(4));
  out->freed = static_cast<uint32_t>(get(4));
  if (out->payload != in.size() - kControlHead) return false;
  if (out->flags & Control::kPayload && (out->flags & Control::kFailed || out->payload != out->bytes)) return false;
  return !(out->flags & Control::kFailed) || out->status < 0;
}

}  // namespace consort
