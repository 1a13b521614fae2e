// domain.hpp — the ranks of a simulated job, their one clock, and the messages on their way.
//
// One rank goes on at a time. It ends its turn by wait(), with the messages that it has posted, the time of its own clock,
// and the time up to which it has nothing to do. next() performs the events of the network in their order and gives the
// turn to the rank that goes on earliest, of equal ones the lowest. So the same program makes the same run, wherever its
// ranks are. A state machine: it never blocks; its owner locks it (meeting.hpp).
#pragma once
#include <consort/transport.h>

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <vector>

#include "network.hpp"

namespace simnet {

using Bytes = std::vector<std::byte>;

// What a rank has posted.
struct Post {
  enum Kind : uint8_t { kSend = 1, kReceive, kCancel } kind = kSend;
  uint32_t peer = 0;                      // kReceive: CONSORT_NONE = any
  uint64_t op = 0;                        // number of the operation at its rank; kCancel: of the victim
  uint64_t at = 0, tag = 0, ignore = 0, bytes = 0;
  Bytes contents;                         // empty: they are not moved
};

// What happened for a rank.
struct Report {
  enum Kind : uint8_t { kDone = 1, kLost } kind = kDone;  // kLost: of `source`
  consort_status status = CONSORT_OK;
  uint32_t source = 0;
  uint64_t op = 0, tag = 0, bytes = 0;
  Bytes contents;                         // of a receive
};

struct Grant {
  uint32_t rank = 0;
  uint64_t now = 0;                       // CONSORT_NEVER: no rank can go on by itself
  std::vector<Report> reports;
};

class Domain {
 public:
  Domain(const Network &, uint32_t ranks);

  // Precondition of all but lost(): the rank has the turn, or has not waited yet.
  void wait(uint32_t rank, uint64_t now, uint64_t until, std::vector<Post> posts);
  void leave(uint32_t rank, std::vector<Post> posts);   // what it has sent arrives
  void lost(uint32_t rank);                             // it has ended, at any time
  // nullopt: a rank has the turn, or not all ranks have come, or all have left.
  std::optional<Grant> next();

  uint32_t present() const noexcept { return present_; }
  std::string report() const;             // lines of totals

 private:
  static constexpr uint32_t kNone = ~0u;
  static constexpr uint64_t kNotice = 1'000'000;  // ns until the others learn that a rank is gone: at the end of a job, most are by then
  struct Message {
    uint32_t from, to;
    Post post;
    Wires::Path path;
    uint32_t hop = 0;
    uint64_t tail = 0;                    // when the last byte is at the end of the way, as far as it is known
  };
  using MessageRef = std::shared_ptr<Message>;
  struct Event {
    uint64_t at, number;
    enum What : uint8_t { kHop, kSent, kArrive, kRefused, kGone } what;  // kGone: of `rank`
    MessageRef message;
    uint32_t rank = kNone;
    bool operator>(const Event &o) const noexcept { return at != o.at ? at > o.at : number > o.number; }
  };
  struct Receive { uint32_t peer; uint64_t op, tag, ignore, bytes; };
  struct Rank {
    enum State : uint8_t { kAbsent, kRuns, kWaits, kGone } state = kAbsent;
    bool is_told_lost = false;            // the others know
    uint64_t now = 0, wake = CONSORT_NEVER;
    uint64_t stuck = 0;                   // the deadlock of which it was told last
    uint32_t under_way = 0;               // messages from it
    std::vector<Report> reports;
    std::list<Receive> receives;
    std::list<MessageRef> arrived;
  };

  void take(uint32_t rank, std::vector<Post> &);
  void add(Event::What, uint64_t at, MessageRef);
  void perform(const Event &);
  void arrive(const MessageRef &);
  void match(uint32_t rank);
  bool match_one(Rank &, std::list<MessageRef>::iterator);
  bool is_overtaking(const Message &, const Receive &) const;
  void tell(uint32_t rank, Report, uint64_t at);
  void set_wake(uint32_t rank, uint64_t at);
  void notice(uint32_t rank);
  void tell_gone(uint32_t rank, uint64_t at);
  static bool fits(const Receive &r, uint32_t from, uint64_t tag) noexcept {
    return (r.peer == CONSORT_NONE || r.peer == from) && ((r.tag ^ tag) & ~r.ignore) == 0;
  }

  Wires wires_;
  std::vector<Rank> ranks_;
  std::set<std::pair<uint64_t, uint32_t>> wakes_;       // of ranks that wait; NEVER is there, too
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::unordered_map<uint64_t, std::deque<MessageRef>> flying_;  // by sender and receiver, in the order of posting
  uint64_t clock_ = 0, number_ = 0, deadlock_ = 1, messages_ = 0, bytes_ = 0;
  uint32_t running_ = kNone, come_ = 0, present_ = 0, after_ = 0;
};

}  // namespace simnet
