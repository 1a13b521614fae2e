// message.hpp — one end of a message between ranks, as a task of this rank's graph: a send, a receive, or a barrier.
//
// A send reads its datum and a receive writes it, so both are ordered with the tasks that use the datum, and a failure
// poisons its readers. The task has the kind kMessage. Its record keeps the address of the Message, which lives from the
// submission to the task's end.
//
//   send      its turn -> staged at home -> offered -> (kGo) -> contents are sent -> ended
//             short contents go with the offer, and the send ends at once
//   receive   its turn -> (the offer) -> room at home -> kGo -> contents arrive -> ended
//
// Where the host's memory is limited, a send is staged only after kGo, and one receive at a time holds room while its
// contents are on the way. So no rank fills its memory with contents that wait for another rank.
#pragma once
#include <consort/consort.h>

#include <cstring>
#include <memory>
#include <string>

#include "remote/matching.hpp"
#include "task/task.hpp"

namespace consort {

struct Message {
  enum class Kind : uint8_t { kSend, kReceive, kBarrier };
  // kSubmitted: not its turn. kWaiting: for the other rank. kStaging: its data come home. kMoving: contents are in flight.
  enum class State : uint8_t { kSubmitted, kWaiting, kStaging, kMoving };

  const Kind kind;
  State state = State::kSubmitted;
  bool is_confirmed = false;              // a send that ends only when the receiver has the contents
  bool is_contiguous = false;             // the contents move from or to the memory of the datum
  bool is_wanted = false;                 // a send that was offered before it was staged, and is to be sent now
  const uint64_t id;
  MessageKey key;                         // of a barrier: tag: its number, number: the round
  Task *task = nullptr;                   // from its turn on
  void *view = nullptr;                   // of the datum at home, while it moves
  uint64_t bytes = 0, answer = 0;
  std::unique_ptr<std::byte[]> packed;    // contents that do not move in place
  Arrived arrived;                        // of a receive: the offer
  consort_status status = CONSORT_OK;     // < 0: it fails at its turn, or when it ends
  std::string why;

  Message(Kind k, uint64_t i, const MessageKey &key_) noexcept : kind(k), id(i), key(key_) {}

  bool has_no_contents() const noexcept { return arrived.offer.flags & Control::kFailed; }

  // In the record, behind its one access.
  static constexpr size_t kPlace = 32;
  static Message &of(const Task &t) noexcept {
    Message *m;
    std::memcpy(&m, t.payload + kPlace, sizeof m);
    return *m;
  }
};

}  // namespace consort
