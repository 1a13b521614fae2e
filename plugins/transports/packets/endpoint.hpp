// endpoint.hpp — one rank of a job over a Fabric: matching, credits, cancellation, the proof of the secret, loss.
//
// handshake.cpp connects two ranks: each sends a hello with a nonce and proves the job's secret by an HMAC over both hellos.
// From then on each packet carries a token that follows from secret and nonces; a packet without it is dropped.
// Messages of up to 1024 bytes travel in packets, as far as the receiver has room (`unexpected`). Longer ones are offered
// and stay with their sender. The receiver posts a receive for the bytes and answers; then they move in place.
//
// Budgets: `depth` sends and `depth` receives from post() until poll() has reported them. Each packet needs a slot; there
// are as many as these budgets and the answers to peers that keep to them can take. A fabric that does not end a transfer
// with a lost peer keeps its Op or Fetch: there are twice as many as the budgets need.
//
// One lock for the rank, held by each call and never while the host is called. Nothing waits for a peer but close().
#pragma once
#include <consort/plugin/transport.hpp>

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../report_ring.hpp"
#include "../rules.hpp"
#include "fabric.hpp"
#include "packet.hpp"

namespace transports {

using namespace consort::plugin;

struct Address {  // little endian; a fabric may have bytes of its own behind it
  static constexpr uint32_t kBytes = 40;
  char magic[4];
  uint16_t version;
  uint32_t rank, nranks;
  uint64_t job;
  uint8_t id[16];  // by chance
};

class Endpoint : public Transport {
 public:
  void disconnect(uint32_t rank) noexcept;
  uint32_t post(Messages) noexcept;
  uint32_t poll(std::span<consort_done>) noexcept;

 protected:
  struct Limits {
    uint32_t depth, unexpected;
  };
  Endpoint(Limits, Host, const consort_boot &, uint64_t token, const char *magic);
  ~Endpoint();
  Endpoint(const Endpoint &) = delete;
  Endpoint &operator=(const Endpoint &) = delete;

  void start(Fabric &, consort_tcaps &);                // at the end of the constructor of a transport
  // Leaves all peers. Waits at most 1 s for transfers in progress, and 25 ms for the answers of the peers, which have then
  // got all that was sent to them, and for packets that may never end. `wait` drives the fabric. To be called by the
  // destructor of a transport.
  template <class Wait>
  void stop(Wait wait) noexcept {
    const uint64_t begin = begin_stop();
    for (uint64_t now = begin; now - begin < 1'000'000'000 && !is_stopped(now - begin < 25'000'000); now = host().now()) wait();
  }
  void keep_memory() noexcept;                          // the fabric goes on using the packets: never frees them
  void write_address(std::byte *to) const noexcept;
  Address check_address(uint32_t rank, std::span<const std::byte>, size_t bytes) const;  // throws
  void check_free(uint32_t rank) const;                 // throws if the rank is connected. Under the lock
  void want(uint32_t rank, const Address &);            // starts to connect. Under the lock; may throw
  bool turn() noexcept;                                 // drives the fabric. Under the lock. Whether something ended
  void died(uint32_t rank) noexcept;                    // the peer is known to be gone. Under the lock
  // Whether transfers with a peer that has gone were cancelled and have not ended. Under the lock
  bool is_stuck(uint32_t rank) const noexcept { return links_[rank].moving && links_[rank].has_left; }
  void give_up(uint32_t rank) noexcept;                 // these transfers. Under the lock
  bool is_up(uint32_t rank) const noexcept { return links_[rank].state == State::kUp; }
  bool has_reports() const noexcept { return !told_.is_empty(); }
  bool is_idle() const noexcept { return !queued_ && !unposted_; }  // nothing that the fabric has refused
  std::array<uint8_t, 16> id() const noexcept { return std::to_array(mine_.id); }
  void complain(std::string text) noexcept;
  virtual void left(uint32_t) noexcept {}               // nothing comes from that peer any more. Under the lock
  virtual void look() noexcept {}                       // for lost peers, now and then. Under the lock
  virtual void posted() noexcept {}                     // something waits for turn(), which others call. Under the lock
  virtual void reported() noexcept {}                   // poll() has something now. Under the lock

  std::mutex mutex_;                                    // guards what follows, and the fabric
  bool polls_drive_ = true;                             // post() and poll() call turn()
  const consort_boot &boot_;                            // lent; the secret is never copied
  const uint32_t rank_;

 private:
  enum class State : uint8_t { kNone, kWanted, kUp, kLost };
  enum class How : uint8_t { kDisconnect, kBye, kDeath };
  static constexpr uint32_t kNone = UINT32_MAX, kReceives = 32, kInline = 256;
  struct Slot {
    alignas(64) std::byte data[kPacketBytes];
    uint32_t index, rank, bytes, op, next;              // op: the SEND that ends with it
  };
  enum class Step : uint8_t { kFree, kCarried, kOffered, kReady, kMoving, kGivenUp };  // kGivenUp: told; the fabric has it still
  struct Op {                                           // a SEND
    consort_msg m;
    uint32_t generation = 0;
    Step step = Step::kFree;
    bool is_lost = false;
    uint64_t number = 0, total = 0, done = 0;           // total: bytes that the receiver takes
    char bytes[kInline];                                // of an INLINE one
  };
  struct Fetch {                                        // a RECV that has matched an offer
    consort_msg m;
    uint32_t rank = 0;
    Step step = Step::kFree;                            // kReady: not posted
    bool is_lost = false, is_told = false;              // told: the peer was answered
    uint64_t tag = 0, bytes = 0, op = 0, number = 0, total = 0, done = 0, part = 0;
  };
  struct Arrived {                                      // a message without a RECV
    Packet p;
    uint32_t slot;                                      // of a short one, in Link::kept
  };
  struct Link {
    State state = State::kNone;
    bool has_hello = false, has_token = false, has_left = false, owes_event = false, tells_freed = false;
    uint32_t events = 0;                                // not yet reported
    uint32_t moving = 0;                                // transfers of a lost peer that have not ended
    uint32_t announced = 0;                             // offers of the peer in arrived_
    uint32_t first = kNone, last = kNone;               // packets that the fabric has not taken
    uint32_t in_flight = 0;                             // packets that were not sent yet
    uint8_t id[16];
    Hello mine, theirs;
    uint64_t token_in = 0, token_out = 0;
    uint64_t sent = 0, sent_freed = 0;                  // short messages to the peer; of these, out of its store
    uint64_t freed = 0, freed_told = 0;                 // likewise of the peer
    std::unique_ptr<char[]> kept;
    std::vector<uint32_t> free_kept;
    uint32_t waits = 0;                                 // its nodes in spare_arrived_
  };

  // handshake.cpp
  void hear_hello(uint32_t rank, const std::byte *) noexcept;
  void hear_proof(uint32_t rank, const std::byte *) noexcept;
  void answer(uint32_t rank) noexcept;
  void mac(uint8_t (&out)[32], const char *what, uint32_t from, uint32_t to, const Hello &, const Hello &) const noexcept;
  void bring_up(uint32_t rank) noexcept;

  // endpoint.cpp
  uint64_t begin_stop() noexcept;
  bool is_stopped(bool waits_for_peers) const noexcept;
  void add_slots(uint32_t n);
  Slot *new_packet(uint32_t rank, PacketKind, const Packet &fields, uint32_t payload = 0) noexcept;
  void enqueue(Slot &) noexcept;
  void free_slot(Slot &) noexcept;
  void flush() noexcept;
  void post_receives() noexcept;
  void post_unposted() noexcept;
  void ended(const Fabric::Done &) noexcept;
  void lose(uint32_t rank, How) noexcept;
  void give_room(Link &) noexcept;
  void cancel_fetches(uint32_t rank) noexcept;
  void one_less(uint32_t rank) noexcept;

  // messages.cpp
  bool take(const consort_msg &) noexcept;
  consort_status judge(const consort_msg &) const noexcept;
  bool send(const consort_msg &) noexcept;
  void receive(const consort_msg &) noexcept;
  void cancel(uint64_t cookie) noexcept;
  void hear(std::span<const std::byte>) noexcept;
  bool hear_message(uint32_t rank, const Packet &, const std::byte *payload) noexcept;
  bool begin_fetch(const consort_msg &, const Packet &) noexcept;
  bool go(Op &, const Packet &) noexcept;
  void data_out(Op &, const Fabric::Done &) noexcept;
  void data_in(Fetch &, const Fabric::Done &) noexcept;
  void end_op(Op &, consort_status, uint64_t bytes = 0) noexcept;
  void end_fetch(Fetch &, consort_status) noexcept;
  void free_op(Op &) noexcept;
  void free_fetch(Fetch &) noexcept;
  void freed_one(uint32_t rank) noexcept;
  Op *op_of(uint64_t id, uint32_t rank) noexcept;
  uint64_t id_of(const Op &op) const noexcept { return uint64_t{op.generation} << 32 | static_cast<uint64_t>(&op - ops_.data()); }
  void finish(const consort_msg &, consort_status, uint64_t bytes = 0) noexcept;
  void received(const consort_msg &, uint32_t rank, uint64_t tag, uint64_t bytes) noexcept;
  void raise(uint32_t event, uint32_t rank) noexcept;
  void tell(const Report &) noexcept;

  const Limits limits_;
  const uint64_t token_;
  Address mine_{};
  Fabric *fabric_ = nullptr;
  uint32_t turns_ = 0, queued_ = 0, unposted_ = 0, moving_ = 0, fetches_given_up_ = 0;
  std::string complaint_;                               // for the log, when the lock is free
  std::vector<Link> links_;
  ReportRing told_;
  std::vector<std::unique_ptr<Slot[]>> slabs_;
  std::vector<Slot *> slots_;
  std::vector<uint32_t> free_slots_, to_receive_;       // to_receive_: slots of packets in, to be posted again
  std::vector<Op> ops_;
  std::vector<uint32_t> free_ops_;
  std::vector<Fetch> fetches_;
  std::vector<uint32_t> free_fetches_;
  std::list<consort_msg> receives_, spare_receives_;
  std::list<Arrived> arrived_, spare_arrived_;
};

}  // namespace transports
