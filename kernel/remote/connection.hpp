// connection.hpp — this rank's transport: control messages and contents to and from the other ranks.
//
// Some receives for control messages of any rank are always posted, so control messages never wait for a receive of the
// graph. Contents move only after both sides have agreed: kGo leaves when the transport has taken the receive. So each
// posted operation ends by itself, however few the transport takes, and contents never come before their receive. What it does not take waits here, control messages in a queue for each rank. Every function is
// called under the job's lock, but event().
#pragma once
#include <consort/transport.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/spin.hpp"
#include "remote/wire.hpp"

namespace consort {

struct Plugin;

class ConnectionOwner {
 public:
  virtual void arrived(uint32_t rank, const Control &, std::span<const std::byte> payload) = 0;  // may throw
  virtual void moved(uint64_t cookie, consort_status, uint64_t bytes) = 0;  // contents were sent or received; may throw
  virtual void up(uint32_t rank) = 0;
  virtual void lost(uint32_t rank, const char *how) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class Connection {
 public:
  static constexpr uint64_t kToken = uint64_t{1} << 48;  // of events; no queue has it

  // [control] Opens the transport. Nothing is connected yet.
  static Result<std::unique_ptr<Connection>> open(ConnectionOwner &, const Plugin &, const consort_boot &);
  ~Connection();
  Connection(const Connection &) = delete;
  Connection &operator=(const Connection &) = delete;

  Result<std::vector<std::byte>> address();                                   // [control]
  Result<void> connect(uint32_t rank, std::span<const std::byte> address);    // [control]
  void event(uint32_t what, uint32_t rank) noexcept;                          // [any] from the transport

  // May throw. After a throw nothing was added.
  void send(uint32_t rank, const Control &, std::span<const std::byte> payload = {});
  void send_contents(uint32_t rank, uint64_t cookie, uint64_t tag, const void *, uint64_t bytes);
  void receive_contents(uint32_t rank, uint64_t cookie, uint64_t tag, void *, uint64_t bytes, const Control &go);
  void cancel(uint64_t cookie);                           // a receive of contents; moved() follows. May throw
  // Posts what waits, polls once, reports to the owner. Returns whether something happened. May throw.
  bool step();
  bool flush() noexcept;                                  // posts what waits; whether something was posted
  bool is_idle() const noexcept { return !controls_out_ && sends_.empty() && !sends_out_; }  // nothing to be sent
  void drop(uint32_t rank) noexcept;                      // control messages to it are not sent any more
  int event_fd() const noexcept { return fd_; }
  bool arm() noexcept;                                    // false: step() has something to do
  bool has_virtual_time() const noexcept { return ops_->advance; }
  uint64_t advance(uint64_t until) noexcept { return ops_->advance(t_, until); }  // without the lock; one thread at a time
  const consort_tcaps &caps() const noexcept { return caps_; }

 private:
  static constexpr uint32_t kReceives = 32, kPerRank = 8;  // control messages in flight
  static constexpr uint64_t kContents = uint64_t{1} << 63; // in the tag of contents
  struct Slot {                                           // one control message
    Slot *next = nullptr;                                 // that waits for the same rank
    uint32_t rank = 0, bytes = 0;
    bool waits = false;                                   // for the transport to take a receive of contents
    std::byte data[kControlBytes];
  };
  struct Contents {                                       // a receive, or the end of one
    consort_msg m;
    Slot *go;                                             // waits for it; nullptr: none does
  };
  struct Outbox {                                         // one for each rank: small
    Slot *first = nullptr, *last = nullptr;               // waiting, in order
    uint32_t in_flight = 0;
    void add(Slot *) noexcept;
    Slot *take() noexcept;                                // precondition: one is waiting
  };
  enum Kind : uint64_t { kControlIn, kControlOut, kContentsOut, kContentsIn };  // in the low bits of a cookie

  Connection(ConnectionOwner &owner, const Plugin &plugin, uint32_t ranks) : owner_(owner), plugin_(plugin), out_(ranks) {}
  static consort_msg message(uint16_t kind, uint32_t rank, uint64_t cookie, uint64_t tag, const void *, uint64_t bytes) noexcept;
  bool post(const consort_msg &) noexcept;
  bool post_receives() noexcept;
  bool post_controls(bool *any) noexcept;                 // false: the transport takes no more
  void finish(const consort_done &);
  void tell_events();

  ConnectionOwner &owner_;
  const Plugin &plugin_;
  const consort_transport_ops *ops_ = nullptr;
  void *t_ = nullptr;
  consort_tcaps caps_{};
  int fd_ = -1;
  std::vector<std::unique_ptr<Slot>> slots_;              // all there are
  std::vector<Slot *> free_;
  std::vector<Slot *> to_receive_;                        // to be posted again; capacity for all
  std::vector<Outbox> out_;                               // by rank
  uint32_t controls_waiting_ = 0;
  uint32_t controls_out_ = 0, sends_out_ = 0, next_ = 0;  // waiting or in flight; next_: the rank whose turn it is
  std::deque<consort_msg> sends_;                         // contents, not taken by the transport yet
  std::deque<Contents> receives_;
  struct Event { uint32_t what, rank; };
  SpinLock lock_;                                         // guards events_
  std::vector<Event> events_;
};

}  // namespace consort
