// packet.hpp — what ranks write to one another over a network: a head of 64 bytes, and up to 1024 bytes behind it. Version 1.
//
// Numbers are little endian on every machine. All of it comes from another process: is_sound() bounds each field that this
// side computes with, and Endpoint drops what lacks the token of a proved peer.
#pragma once
#include <consort/shared/little_endian.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace transports {

constexpr uint32_t kPacketMagic = 0x50545343;  // "CSTP"
constexpr uint16_t kPacketVersion = 1;
constexpr uint32_t kShort = 1024;              // longest message that is carried in a packet
constexpr uint32_t kPacketHead = 64, kPacketBytes = kPacketHead + kShort;

enum class PacketKind : uint16_t {
  kHello = 1,   // Hello: this rank wants to connect
  kProof,       // 32 bytes: an HMAC over both hellos. From here on packets carry a token
  kShortSend,   // a message: tag, and its bytes
  kOffer,       // a message that stays with its sender: op, tag, bytes
  kGo,          // answers kOffer `other`: the receive `op` is posted for `bytes` bytes
  kCancel,      // the offer `op`, if no receive has taken it
  kCancelled,   // answers kCancel: `other` was withdrawn
  kFreed,       // nothing but the count in the head
  kBye,         // this rank has disconnected; nothing follows
  kLast = kBye
};

struct Packet {
  PacketKind kind;
  uint32_t from, payload;
  uint64_t token;       // of a proved sender
  uint64_t tag, bytes, op, other;
  uint64_t freed;       // short messages of the addressee that have left the sender's store, so far
};

// Settings and identity of a rank that connects.
struct Hello {
  uint8_t from_id[16], to_id[16], nonce[16];
  uint64_t job;
  uint32_t nranks, depth, unexpected;
};
constexpr uint32_t kHelloBytes = 72, kProofBytes = 32;

class Writer {
 public:
  explicit Writer(std::byte *at) noexcept : at_(at) {}
  void number(uint64_t value, uint32_t bytes) noexcept {
    consort::shared::store_little(at_, value, bytes);
    at_ += bytes;
  }
  void raw(std::span<const uint8_t> bytes) noexcept {
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }

 private:
  std::byte *at_;
};

class Reader {
 public:
  explicit Reader(const std::byte *at) noexcept : at_(at) {}
  template <class T>
  T number() noexcept {
    at_ += sizeof(T);
    return static_cast<T>(consort::shared::load_little(at_ - sizeof(T), sizeof(T)));
  }
  void raw(std::span<uint8_t> out) noexcept {
    std::memcpy(out.data(), at_, out.size());
    at_ += out.size();
  }

 private:
  const std::byte *at_;
};

inline void encode(const Packet &p, std::byte *to) noexcept {
  Writer w(to);
  w.number(kPacketMagic, 4), w.number(kPacketVersion, 2), w.number(static_cast<uint16_t>(p.kind), 2);
  w.number(p.from, 4), w.number(p.payload, 4);
  for (const uint64_t n : {p.token, p.tag, p.bytes, p.op, p.other, p.freed}) w.number(n, 8);
}

inline void encode(const Hello &h, std::byte *to) noexcept {
  Writer w(to);
  w.raw(h.from_id), w.raw(h.to_id), w.raw(h.nonce);
  w.number(h.job, 8), w.number(h.nranks, 4), w.number(h.depth, 4), w.number(h.unexpected, 4), w.number(0, 4);
}

inline Hello decode_hello(const std::byte *from) noexcept {
  Hello h;
  Reader r(from);
  r.raw(h.from_id), r.raw(h.to_id), r.raw(h.nonce);
  h.job = r.number<uint64_t>(), h.nranks = r.number<uint32_t>();
  h.depth = r.number<uint32_t>(), h.unexpected = r.number<uint32_t>();
  return h;
}

// Whether the bytes are a packet of this version; its fields are within their bounds then.
inline bool decode(std::span<const std::byte> bytes, uint32_t nranks, Packet *out) noexcept {
  if (bytes.size() < kPacketHead || bytes.size() > kPacketBytes) return false;
  Reader r(bytes.data());
  if (r.number<uint32_t>() != kPacketMagic || r.number<uint16_t>() != kPacketVersion) return false;
  const auto kind = r.number<uint16_t>();
  Packet &p = *out;
  p.kind = static_cast<PacketKind>(kind);
  p.from = r.number<uint32_t>(), p.payload = r.number<uint32_t>();
  for (uint64_t *n : {&p.token, &p.tag, &p.bytes, &p.op, &p.other, &p.freed}) *n = r.number<uint64_t>();
  if (kind < 1 || kind > static_cast<uint16_t>(PacketKind::kLast) || p.from >= nranks || p.bytes > INT64_MAX) return false;
  if (p.payload != bytes.size() - kPacketHead) return false;
  switch (p.kind) {
    case PacketKind::kHello: return p.payload == kHelloBytes;
    case PacketKind::kProof: return p.payload == kProofBytes;
    case PacketKind::kShortSend: return p.payload == p.bytes;
    default: return p.payload == 0;
  }
}

}  // namespace transports
