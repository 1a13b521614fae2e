#include "remote/wire.hpp"

namespace consort {
namespace {

constexpr std::byte kVersion{1};

class Writer {
 public:
  explicit Writer(std::span<std::byte> out) noexcept : out_(out) {}
  void put(uint64_t value, size_t bytes) noexcept {
    for (size_t i = 0; i < bytes; ++i) out_[at_++] = static_cast<std::byte>(value >> (8 * i));
  }

 private:
  std::span<std::byte> out_;
  size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) noexcept : in_(in) {}
  uint64_t get(size_t bytes) noexcept {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{static_cast<uint8_t>(in_[at_++])} << (8 * i);
    return value;
  }

 private:
  std::span<const std::byte> in_;
  size_t at_ = 0;
};

}  // namespace

void encode(const Control &c, std::span<std::byte, kControlHead> out) noexcept {
  Writer w(out);
  w.put(static_cast<uint8_t>(kVersion), 1);
  w.put(c.kind, 1);
  w.put(c.flags, 2);
  w.put(static_cast<uint32_t>(c.status), 4);
  for (const uint64_t word : {c.tag, c.number, c.bytes, c.id, c.answer}) w.put(word, 8);
  w.put(c.payload, 4);
  w.put(c.freed, 4);
}

bool decode(std::span<const std::byte> in, Control *out) noexcept {
  if (in.size() < kControlHead || in.size() > kControlBytes || in[0] != kVersion) return false;
  Reader r(in.subspan(1));
  const uint64_t kind = r.get(1);
  if (kind < Control::kOffer || kind > Control::kSeen) return false;
  out->kind = static_cast<Control::Kind>(kind);
  out->flags = static_cast<uint16_t>(r.get(2));
  out->status = static_cast<consort_status>(static_cast<uint32_t>(r.get(4)));
  if (out->status > CONSORT_OK || out->status < CONSORT_E_STOPPED) return false;
  for (uint64_t *word : {&out->tag, &out->number, &out->bytes, &out->id, &out->answer}) *word = r.get(8);
  out->payload = static_cast<uint32_t>(r.get(4));
  out->freed = static_cast<uint32_t>(r.get(4));
  if (out->payload != in.size() - kControlHead) return false;
  if (out->flags & Control::kPayload && (out->flags & Control::kFailed || out->payload != out->bytes)) return false;
  return !(out->flags & Control::kFailed) || out->status < 0;
}

}  // namespace consort
