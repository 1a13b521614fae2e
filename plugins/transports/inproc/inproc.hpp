// inproc.hpp — a rank among those of its job that are open in this process.
//
// A SEND finds its RECV, or a RECV its SEND, in the call that brings the second of them; PUT and GET are done by the
// call that posts them. So nothing needs a thread, and the peer's poll() does not move anything: it tells. Both ranks
// of a message are guarded by their house's lock. A long copy is made without it: the operation is in no list then,
// and Link::moving of both sides keeps either rank, and the memory, from being taken away before it has ended.
//
// Budgets: `depth` operations that send and `depth` that receive, from post() until poll() has told of them;
// `unexpected` short messages that were taken from their senders and wait here; `notifications` that wait for poll().
// Beyond them post() takes no more. All room is made by open(): post() and poll() allocate nothing.
//
// Hosts are called by poll() alone, of their own rank, and without a lock.
#pragma once
#include <consort/plugin/transport.hpp>

#include <list>
#include <map>

#include "house.hpp"
#include "strides.hpp"
#include "told.hpp"

namespace inproc {

using namespace consort::plugin;

class Inproc : public Transport {
 public:
  static constexpr const char *summary = "messages between runtimes of one process", *license = "Apache-2.0";
  static constexpr Param<uint32_t> depth{"depth", "256", "1..65536",
                                         "sends, PUTs and GETs under way, and as many receives"};
  static constexpr Param<uint32_t> unexpected{
      "unexpected", "256", "0..65536",
      "messages of up to 256 bytes that are kept for a rank which has no RECV for them"};
  static constexpr Param<uint32_t> notifications{"notifications", "1024", "1..1048576",
                                                 "notifications that are kept for a rank which does not poll"};
  static constexpr auto params = parameters(depth, unexpected, notifications);
  struct Settings {
    explicit Settings(Host host)
        : depth(host.value(Inproc::depth)),
          unexpected(host.value(Inproc::unexpected)),
          notifications(host.value(Inproc::notifications)) {}
    uint32_t depth, unexpected, notifications;
  };
  static constexpr uint64_t kShort = 256;  // bytes that post() takes along; a longer message waits where it is

  Inproc(const Settings &, Host, const consort_boot &, uint64_t token, consort_tcaps &);
  ~Inproc();
  uint32_t address(std::span<std::byte> room) noexcept;
  void connect(uint32_t rank, std::span<const std::byte> address);
  void disconnect(uint32_t rank) noexcept;
  consort_mr reg(const consort_space_desc &, consort_addr, uint64_t bytes);
  void dereg(const consort_mr &) noexcept;
  uint32_t post(Messages) noexcept;
  uint32_t poll(std::span<consort_done>) noexcept;
  int event_fd() noexcept;
  consort_status arm() noexcept;
  uint64_t next_event() noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;
  struct Address {
    char magic[4];
    uint32_t version, process, rank;
    uint64_t job, number;  // job: a hash of its name
  };
  struct Key {
    uint64_t number, region;  // of the rank that registered it; never used again, either
  };
  static_assert(sizeof(Key) <= sizeof consort_mr::rkey);
  struct Region {
    consort_addr from;
    uint64_t bytes;
    uint32_t users;  // copies without the lock
    bool gone;
  };
  enum class State : uint8_t { kNone, kWanted, kUp, kLost };  // kWanted: by this side; up when the other wants it, too
  struct Link {
    Inproc *peer = nullptr;  // while kWanted or kUp
    State state = State::kNone;
    bool leaving = false;  // the peer closes, and will tell so when nothing is moving any more
    uint32_t moving = 0;   // copies without the lock; both sides count
    uint32_t events = 0;   // that are in the ring, or will be: one UP and one LOST at most
  };
  struct Sent {
    consort_msg m;
    Inproc *from;
    bool is_over;        // its sender has been told; what is kept of it is the receiver's
    char bytes[kShort];  // of a short one
    Rows data() noexcept;
  };

  bool take(const consort_msg &, Lock &);
  bool has_room(const consort_msg &) const noexcept;
  consort_status judge(const consort_msg &) const noexcept;
  void send(const consort_msg &, Lock &) noexcept;
  void receive(const consort_msg &, Lock &) noexcept;
  void reach(const consort_msg &, Lock &) noexcept;
  void cancel(uint64_t cookie) noexcept;
  void carry(Inproc &peer, const Rows &to, const Rows &from, Region *, Lock &) noexcept;
  void finish(Tell, const consort_msg &, consort_status, uint64_t bytes = 0) noexcept;
  void received(const consort_msg &receive, uint64_t bytes, uint32_t source, uint64_t tag) noexcept;
  void tell(const Told &) noexcept;
  void raise(uint32_t event, uint32_t rank) noexcept;
  void end_sends(Inproc &to) noexcept;
  void end_receives(uint32_t source) noexcept;
  template <class Done>
  void wait_until(Lock &, Done) noexcept;
  void check_address(uint32_t rank, const Address &) const;
  bool knows_secret_of(const Inproc &) const noexcept;

  Lodging house_;  // first: gone last
  const Settings settings_;
  const consort_boot &boot_;  // lent for this life; the secret is never copied
  const uint32_t rank_;
  const uint64_t token_;
  // Guarded by the house, all that follows.
  bool closing_ = false, armed_ = false;
  int fd_ = -1;
  std::vector<Link> links_;  // by rank
  std::map<uint64_t, Region> regions_;
  uint64_t last_region_ = 0;
  ToldRing told_;
  uint32_t sends_owed_ = 0, receives_owed_ = 0, notes_ = 0;  // posted and not told; notifications not told
  // What waits, oldest first, and nodes for more. A node moves from list to list; none is made after open().
  std::list<consort_msg> receives_, spare_receives_;
  std::list<Sent> arrived_;  // for this rank; nodes of senders, and of spare_kept_
  std::list<Sent> spare_sends_, spare_kept_;
};

}  // namespace inproc
