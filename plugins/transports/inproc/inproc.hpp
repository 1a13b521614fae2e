// inproc.hpp — one rank of a job in this process.
//
// A SEND is matched with its RECV by the call that posts the second of them; PUT and GET are performed by the call that
// posts them. So no thread is needed, and the peer's poll() only reports. The job's lock guards both ranks of a message.
// A long copy is made without the lock: the operation is in no list then, and Link::moving of both sides keeps both ranks
// and the memory alive until it has ended.
//
// Budgets: `depth` sending and `depth` receiving operations, from post() until poll() has reported them;
// `unexpected` short messages copied from their senders; `notifications` not yet polled.
// Beyond them post() accepts no more. open() allocates everything: post() and poll() allocate nothing.
//
// Only poll() calls the host, that of its own rank, and without a lock.
#pragma once
#include <consort/plugin/transport.hpp>

#include <list>
#include <map>

#include "job.hpp"
#include "../report_ring.hpp"
#include "../rules.hpp"

namespace inproc {

using namespace consort::plugin;
using namespace transports;

class Inproc : public Transport {
 public:
  static constexpr const char *summary = "messages between runtimes of one process", *license = "Apache-2.0";
  static constexpr Param<uint32_t> depth{"depth", "256", "1..65536",
                                         "sends, PUTs and GETs in flight, and as many receives"};
  static constexpr Param<uint32_t> unexpected{
      "unexpected", "256", "0..65536",
      "messages of up to 256 bytes stored for a rank without a matching RECV"};
  static constexpr Param<uint32_t> notifications{"notifications", "1024", "1..1048576",
                                                 "notifications stored for a rank that does not poll"};
  static constexpr auto params = parameters(depth, unexpected, notifications);
  struct Settings {
    explicit Settings(Host host)
        : depth(host.value(Inproc::depth)),
          unexpected(host.value(Inproc::unexpected)),
          notifications(host.value(Inproc::notifications)) {}
    uint32_t depth, unexpected, notifications;
  };
  static constexpr uint64_t kShort = 256;  // largest message that post() copies; a longer one stays in the sender's memory

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
    uint64_t number, region;  // of the registering rank; never reused
  };
  static_assert(sizeof(Key) <= sizeof consort_mr::rkey);
  struct Region {
    consort_addr from;
    uint64_t bytes;
    uint32_t users;  // copies in progress without the lock
    bool gone;
  };
  enum class State : uint8_t { kNone, kWanted, kUp, kLost };  // kWanted: connected by this side; up when the other side connects
  struct Link {
    Inproc *peer = nullptr;  // while kWanted or kUp
    State state = State::kNone;
    bool leaving = false;  // the peer closes, and reports it when no copy is in progress
    uint32_t moving = 0;   // copies in progress without the lock; counted on both sides
    uint32_t events = 0;   // events in the ring or due: at most one UP and one LOST
  };
  struct Sent {
    consort_msg m;
    Inproc *from;
    bool is_over;        // its send is complete; the copy belongs to the receiver
    char bytes[kShort];  // of a short message
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
  void finish(ReportKind, const consort_msg &, consort_status, uint64_t bytes = 0) noexcept;
  void received(const consort_msg &receive, uint64_t bytes, uint32_t source, uint64_t tag) noexcept;
  void tell(const Report &) noexcept;
  void raise(uint32_t event, uint32_t rank) noexcept;
  void end_sends(Inproc &to) noexcept;
  void end_receives(uint32_t source) noexcept;
  template <class Done>
  void wait_until(Lock &, Done) noexcept;
  void check_address(uint32_t rank, const Address &) const;
  bool knows_secret_of(const Inproc &) const noexcept;

  JobMembership job_;  // first member: destroyed last
  const Settings settings_;
  const consort_boot &boot_;  // lent for the rank's lifetime; the secret is never copied
  const uint32_t rank_;
  const uint64_t token_;
  // The job's lock guards the following fields.
  bool closing_ = false, armed_ = false;
  int fd_ = -1;
  std::vector<Link> links_;  // by rank
  std::map<uint64_t, Region> regions_;
  uint64_t last_region_ = 0;
  ReportRing told_;
  // Pending operations, oldest first, and spare nodes. Nodes move between lists; none is allocated after open().
  std::list<consort_msg> receives_, spare_receives_;
  std::list<Sent> arrived_;  // messages to this rank; nodes of senders, and of spare_kept_
  std::list<Sent> spare_sends_, spare_kept_;
};

}  // namespace inproc
