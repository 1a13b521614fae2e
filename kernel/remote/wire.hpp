// wire.hpp — control messages between the ranks of a job: what they say, and their bytes.
//
// A control message has a head of kControlHead bytes, in little endian on every machine, and may carry a short payload or
// a text. decode() trusts no field: the bytes come from another process. Pure functions; any thread.
#pragma once
#include <consort/plugin.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace consort {

// Which of the messages between two ranks: the number-th one of that tag. Both sides count at submission.
struct MessageKey {
  uint32_t peer = 0;
  enum Class : uint8_t { kInferred, kExplicit, kStored } cls = kInferred;  // kStored: of a checkpoint
  uint64_t tag = 0, number = 0;
  bool operator==(const MessageKey &) const = default;
};

struct Control {
  enum Kind : uint8_t {
    kOffer = 1,  // contents wait at the sender, or are the payload; or a failure, whose text is the payload
    kGo,         // the receiver has posted its receive for offer `id`; `answer` is the tag of the contents
    kTaken,      // the receiver has the contents of offer `id`, or does not want them: `status`
    kBarrier,    // `tag`: which barrier; `number`: which round
    kCredit,     // only `freed`
    kBye,        // the rank leaves the job when all others have answered; it sends nothing more
    kSeen        // all that the leaving rank has sent is here
  };
  enum Flags : uint16_t {
    kPayload = 1,    // the contents are the payload
    kContiguous = 2, // kOffer: the sender's memory is one run. kGo: the contents are sent as they lie there
    kExplicit = 4,   // the class of the key
    kFailed = 8,     // there are no contents; `status` and a text
    kConfirm = 16,   // kOffer with a payload: the sender waits for kTaken
    kStored = 32     // the class of the key, without kExplicit
  };
  Kind kind = kCredit;
  uint16_t flags = 0;
  consort_status status = CONSORT_OK;
  uint64_t tag = 0, number = 0, bytes = 0, id = 0, answer = 0;
  uint32_t payload = 0;                   // bytes behind the head
  uint32_t freed = 0;                     // stored payloads of the receiver of this message that have been taken
};

inline constexpr size_t kControlHead = 56, kControlBytes = 1024, kMostPayload = kControlBytes - kControlHead;

void encode(const Control &, std::span<std::byte, kControlHead> out) noexcept;
// False: no control message of this version, or one whose lengths do not fit `in`.
bool decode(std::span<const std::byte> in, Control *out) noexcept;

}  // namespace consort
