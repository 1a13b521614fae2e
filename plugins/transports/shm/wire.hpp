// wire.hpp — what passes between two processes: records of the ring, packets of the socket. Version 1.
//
// One machine, so one byte order. All of it comes from another process: is_sound() bounds each field that this side computes
// with; addresses in a Shape are the peer's own and are only ever read through the system (copies.hpp).
#pragma once
#include <consort/transport.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../strides.hpp"

namespace shm {

constexpr uint16_t kVersion = 1;
constexpr uint32_t kShort = 1024;   // longest message that is carried in a record
constexpr uint32_t kInline = 256;   // longest PUT that is carried in a record, and longest INLINE message
constexpr uint32_t kChunk = 8192;   // bytes of a kData
constexpr uint32_t kAhead = 8;      // chunks asked for before the first has come
constexpr uint32_t kMostDepth = 4096;

enum Kind : uint16_t {
  kPad = 1,     // nothing, up to the end of the ring
  kShortSend,   // a message: tag, and its bytes as payload
  kSend,        // a message that stays with its sender: op, tag, shape
  kPut,         // op, tag, shape of the source, Reach [and the bytes, if kCarried]
  kGet,         // op, shape (rows and bytes of each), Reach
  kGrant,       // op: the GET is within its region; offset: the target's epoch
  kFinish,      // op has ended; offset: status
  kCancel,      // op, if it is a SEND that has no receive yet
  kPull,        // op: its bytes [offset, offset + tag)
  kPullRegion,  // the same of a region: shape, Reach
  kData,        // the answer to both; offset, and the bytes as payload
  kLastKind = kData
};
enum Flag : uint16_t { kNotifies = 1, kCarried = 2, kRefused = 4 };

struct Shape {
  uint64_t at, bytes;
  int64_t step;
  uint32_t rows, reserved;
  uint64_t total() const noexcept { return bytes * rows; }
  transports::Rows mapped() const noexcept { return {reinterpret_cast<char *>(at), bytes, rows, step}; }
};
struct Record {
  uint16_t kind, flags;
  uint32_t payload;
  uint64_t op, tag, offset;
  Shape shape;
};
static_assert(sizeof(Record) == 64);

struct Key {
  uint64_t number, region;  // of the registering open(), by chance; of its region: never used again
};
struct Reach {
  Key key;
  consort_addr at;
  int64_t step;
};
static_assert(sizeof(Reach) == 40 && sizeof(Key) <= sizeof consort_mr::rkey);

// Whether its sizes are within what a record of its kind may have.
inline bool is_sound(const Record &r) noexcept {
  uint64_t total;
  if (r.kind <= kPad || r.kind > kLastKind) return false;
  if (__builtin_mul_overflow(r.shape.bytes, uint64_t{r.shape.rows}, &total) || total > INT64_MAX) return false;
  switch (r.kind) {
    case kShortSend:
      return r.payload <= kShort;
    case kPut:
      return r.payload == sizeof(Reach) + (r.flags & kCarried ? total : 0) && (!(r.flags & kCarried) || total <= kInline);
    case kGet:
      return r.payload == sizeof(Reach);
    case kPullRegion:
      return r.payload == sizeof(Reach) && r.tag <= kChunk && r.offset <= total && r.tag <= total - r.offset;
    case kPull:
      return r.payload == 0 && r.tag <= kChunk;
    case kData:
      return r.payload <= kChunk;
    default:
      return r.payload == 0;
  }
}

// Copies n bytes of the rows, from `offset` on, out of or into one piece of memory.
template <bool kInto>
inline void move_part(const transports::Rows &rows, uint64_t offset, uint64_t n, char *flat) noexcept {
  while (n) {
    const uint64_t in = offset % rows.bytes, run = n < rows.bytes - in ? n : rows.bytes - in;
    char *const at = rows.at + static_cast<int64_t>(offset / rows.bytes) * rows.step + in;
    kInto ? std::memcpy(at, flat, run) : std::memcpy(flat, at, run);
    offset += run, flat += run, n -= run;
  }
}

// -- start ------------------------------------------------------------------------------------------------------------

constexpr char kMagic[4] = {'C', 'S', 'H', 'M'};
struct Address {
  char magic[4];
  uint32_t version, rank, nranks;
  uint64_t job, host;   // a hash of its name; boot->host_id
  uint8_t id[16];       // by chance; names the socket
};

// The rank with the higher number connects: kHello, kChallenge back, kProof with the memory, kReady back.
enum Step : uint16_t { kHello = 1, kChallenge, kProof, kReady };
struct Packet {
  char magic[4];
  uint16_t version, step;
  uint32_t from, to, nranks, depth, unexpected, reserved;
  uint64_t job, probe_at, probe;  // a number in the memory of its sender, which the peer tries to read
  uint8_t from_id[16], to_id[16], nonce[16], proof[32];
};

inline bool is_sound(const Packet &p, size_t bytes, uint16_t step) noexcept {
  return bytes == sizeof p && std::memcmp(p.magic, kMagic, sizeof kMagic) == 0 && p.version == kVersion && p.step == step &&
         p.depth >= 1 && p.depth <= kMostDepth && p.unexpected <= kMostDepth;
}

// Bytes of each ring: for all that either side may have in it at once, so that an answer always finds room.
static_assert(sizeof(Reach) + kInline <= 320);
inline uint64_t ring_bytes(uint32_t depth, uint32_t unexpected) noexcept {
  const uint64_t requests = depth * (sizeof(Record) + uint64_t{320}), cancels = depth * sizeof(Record),
                 answers = 2 * depth * sizeof(Record), shorts = unexpected * (sizeof(Record) + uint64_t{kShort}),
                 data = kAhead * (sizeof(Record) + uint64_t{kChunk} + 2 * sizeof(Record)), pads = 2 * (kChunk + sizeof(Record));
  uint64_t n = 65536;
  while (n < requests + cancels + answers + shorts + data + pads) n *= 2;
  return n;
}

}  // namespace shm
