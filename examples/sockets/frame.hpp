// frame.hpp — what two ranks write to one another over a TCP connection: a hello, a proof, then frames. Version 1.
//
// Numbers are little endian on every machine. All of it comes from another process: decode() bounds what can be bounded
// without knowing the connection, and Sockets treats a peer as lost that breaks the protocol.
#pragma once
#include <consort/shared/little_endian.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sockets {

constexpr uint32_t kMagic = 0x4b434f53, kVersion = 1;  // "SOCK"
constexpr uint32_t kShort = 1024;                      // longest message that goes behind its frame at once
constexpr uint32_t kPart = 256 << 10;                  // longest piece of a long message
constexpr uint32_t kFrameBytes = 48, kHelloBytes = 80, kProofBytes = 32, kAddressBytes = 48;

struct Frame {
  enum Kind : uint64_t {
    kMessage = 1,  // tag; `bytes` bytes follow
    kOffer,        // a message that stays with its sender until a receive wants it: op, tag, bytes
    kGo,           // answers offer `other`: its first `bytes` bytes are wanted, for receive `op`
    kData,         // the next `bytes` bytes for receive `other`; they follow
    kCancel,       // the offer `op`, if no receive has taken it
    kCancelled,    // answers kCancel: `other` was withdrawn
    kFreed         // nothing but `freed`
  };
  uint64_t kind = 0, tag = 0, bytes = 0, op = 0, other = 0;
  uint64_t freed = 0;  // messages of the receiver of this frame that are stored no longer, since the beginning
};

inline void encode(const Frame &f, std::byte *to) noexcept {
  for (const uint64_t n : {f.kind, f.tag, f.bytes, f.op, f.other, f.freed}) consort::shared::store_little(to, n, 8), to += 8;
}

// False: no frame.
inline bool decode(const std::byte *from, Frame *f) noexcept {
  for (uint64_t *n : {&f->kind, &f->tag, &f->bytes, &f->op, &f->other, &f->freed})
    *n = consort::shared::load_little(from, 8), from += 8;
  if (f->kind < Frame::kMessage || f->kind > Frame::kFreed || f->bytes > INT64_MAX) return false;
  return f->kind == Frame::kMessage ? f->bytes <= kShort : f->kind != Frame::kData || (f->bytes && f->bytes <= kPart);
}

struct Hello {
  uint32_t rank = 0, nranks = 0, depth = 0, unexpected = 0;
  uint64_t job = 0;                                    // a hash of its name
  uint8_t from[16] = {}, to[16] = {}, nonce[16] = {};  // from, to: the ids of the two ranks
};

inline void encode(const Hello &h, std::byte *to) noexcept {
  for (const uint32_t n : {kMagic, kVersion, h.rank, h.nranks, h.depth, h.unexpected}) consort::shared::store_little(to, n, 4), to += 4;
  consort::shared::store_little(to, h.job, 8);
  std::memcpy(to + 8, h.from, 16), std::memcpy(to + 24, h.to, 16), std::memcpy(to + 40, h.nonce, 16);
}

inline bool decode(const std::byte *from, Hello *h) noexcept {
  uint32_t magic = 0, version = 0;
  for (uint32_t *n : {&magic, &version, &h->rank, &h->nranks, &h->depth, &h->unexpected})
    *n = static_cast<uint32_t>(consort::shared::load_little(from, 4)), from += 4;
  h->job = consort::shared::load_little(from, 8);
  std::memcpy(h->from, from + 8, 16), std::memcpy(h->to, from + 24, 16), std::memcpy(h->nonce, from + 40, 16);
  return magic == kMagic && version == kVersion;
}

}  // namespace sockets
