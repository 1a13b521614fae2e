// shm.hpp — one rank of a job in this process, and its links to ranks in other processes of the same machine.
//
// start.cpp connects two ranks over a socket: their numbers, the proof of the secret, the memory of both rings. From then on
// records pass through the rings (ring.hpp) and the socket carries only wakes and the end of the peer.
// Every byte of a message is read by the rank that receives it, out of the ring or out of its sender's memory (copies.hpp).
// PUT and GET are checked by the target, in its own table; a GET is read by its origin and is good if the target has
// unregistered nothing meanwhile (`epoch`). So no rank writes into the memory of another, and none waits for another.
//
// Budgets: `depth` sending and `depth` receiving operations from post() until poll() has reported them; `unexpected` short
// messages of each peer that no RECV has taken yet; `notifications` not yet polled. The rings hold what these allow, so a
// peer that fills one does not keep to the rules and is treated as lost. All ranks have the same `depth` and `unexpected`.
//
// One lock for the rank, held by whatever this process calls; never while the host is called. Nothing waits for a peer.
#pragma once
#include <consort/plugin/transport.hpp>

#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "../report_ring.hpp"
#include "../rules.hpp"
#include "../fd.hpp"
#include "../pmix/board.hpp"
#include "ring.hpp"

namespace shm {

using namespace consort::plugin;
using namespace transports;

class Shm : public Transport {
 public:
  static constexpr const char *summary = "messages between processes of one machine, through shared memory",
                              *license = "Apache-2.0";
  static constexpr Param<uint32_t> depth{"depth", "128", "1..4096", "sends, PUTs and GETs in flight, and as many receives"};
  static constexpr Param<uint32_t> unexpected{"unexpected", "64", "0..4096",
                                              "messages of up to 1024 bytes stored for each peer without a matching RECV"};
  static constexpr Param<uint32_t> notifications{"notifications", "1024", "1..1048576",
                                                 "notifications stored for a rank that does not poll"};
  static constexpr Param<std::string> copy{"copy", "auto", "auto|ring",
                                           "auto: long messages are read from the peer's memory where the system allows it; "
                                           "ring: through the ring"};
  static constexpr auto params = parameters(depth, unexpected, notifications, copy);
  struct Settings {
    explicit Settings(Host host);
    uint32_t depth, unexpected, notifications;
    bool may_pull;
  };

  Shm(const Settings &, Host, const consort_boot &, uint64_t token, consort_tcaps &);
  ~Shm();
  static consort_boot boot(Host host, uint64_t deadline) { return pmix::boot(host, deadline); }
  uint32_t address(std::span<std::byte> room) noexcept;
  void connect(uint32_t rank, std::span<const std::byte> address);
  void disconnect(uint32_t rank) noexcept;
  consort_mr reg(const consort_space_desc &, consort_addr, uint64_t bytes);
  void dereg(const consort_mr &) noexcept;
  uint32_t post(Messages) noexcept;
  uint32_t poll(std::span<consort_done>) noexcept;
  int event_fd() noexcept { return epoll_.get(); }
  consort_status arm() noexcept;

 private:
  enum class State : uint8_t { kNone, kWanted, kUp, kLost };
  struct Op {  // a SEND, PUT or GET that needs an answer of its peer
    consort_msg m;
    Key key;
    uint32_t generation = 0;
    bool is_used = false, is_cancelled = false, is_granted = false;
    char bytes[kInline];  // of an INLINE one
  };
  struct Arrived {  // a message without a RECV
    Record r;
    uint32_t rank, slot;  // slot: of a short one, in Link::kept
  };
  struct Fetch {  // bytes that come through the ring, in pieces
    Record r;
    Reach reach;
    consort_msg m;  // of this rank: the RECV or the GET
    Rows to;
    uint64_t total, asked, done;
    bool is_stale;
  };
  struct Link {
    State state = State::kNone;
    uint16_t step = 0;    // the packet that is awaited
    uint32_t events = 0;  // not yet reported
    Fd socket, process;   // process: becomes readable when it has ended
    int pid = 0;
    bool can_pull = false, is_dead = false, must_wake = false;
    Address theirs{};
    Packet hello{}, challenge{};
    char *memory = nullptr;
    uint64_t bytes = 0;
    RingWriter out;
    RingReader in;
        uint64_t shorts_sent = 0, shorts_freed = 0;  // to the peer; of the peer
    uint32_t announced = 0, puts = 0;            // of the peer: SENDs in arrived_, PUTs in fetches
    std::unique_ptr<char[]> kept;
    std::vector<uint32_t> free_slots;
    std::list<Fetch> fetches;
  };
  struct Pending {  // a process that has connected and is no peer yet
    Fd socket;
    int pid;
    bool has_hello;
    Packet hello;
  };
  struct Region {
    consort_addr from;
    uint64_t bytes;
  };

  // start.cpp
  void check_address(uint32_t rank, const Address &) const;
  void knock(Link &, uint32_t rank);
  void look_at_sockets() noexcept;
  void accept_all();
  void read_pending(int fd);
  void answer_pending(uint32_t rank);
  void advance(uint32_t rank);
  Packet packet(uint16_t step, uint32_t to, const Link &) const noexcept;
  void prove(uint8_t (&out)[32], const char *side, const Packet &hello, const Packet &challenge, const Packet &proof) const noexcept;
  bool map(Link &, int fd, bool is_first);
  void bring_up(uint32_t rank, const Packet &theirs);
  bool has_my_settings(const Packet &) const noexcept;
  void drop(uint32_t rank, const char *why) noexcept;
  void watch(int fd, uint64_t what);
  void forget(Fd &) noexcept;
  void complain(std::string text) noexcept;

  // messages.cpp
  bool take(const consort_msg &);
  consort_status judge(const consort_msg &) const noexcept;
  bool send(const consort_msg &);
  bool reach(const consort_msg &);
  void receive(const consort_msg &) noexcept;
  void cancel(uint64_t cookie) noexcept;
  bool drain(uint32_t rank) noexcept;
  bool handle(uint32_t rank, const Record &, const char *payload) noexcept;
  bool handle_put(uint32_t rank, const Record &, const char *payload) noexcept;
  bool handle_grant(uint32_t rank, const Record &) noexcept;
  bool handle_data(uint32_t rank, const Record &, const char *payload) noexcept;
  bool answer_pull(uint32_t rank, const Record &, const char *payload) noexcept;
  bool begin(uint32_t rank, const consort_msg &mine, const Record &theirs, const Rows &to, uint64_t n, const Reach &) noexcept;
  bool end(uint32_t rank, const consort_msg &mine, const Record &theirs, consort_status) noexcept;
  bool go_on(uint32_t rank) noexcept;
  bool is_there_after_copy(Link &) noexcept;
  consort_status region_of(const Reach &, uint64_t bytes, uint32_t rows) const noexcept;
  bool tell_peer(uint32_t rank, uint16_t what, uint64_t op, int64_t value) noexcept;
  void lose(uint32_t rank, bool with_event) noexcept;
  void unlink(Link &) noexcept;
  void wake_peers() noexcept;
  bool is_waiting(Link &) const noexcept;
  Op *op_of(uint64_t id, uint32_t rank) noexcept;
  uint64_t id_of(const Op &) const noexcept;
  void finish(const consort_msg &, consort_status, uint64_t bytes = 0) noexcept;
  void received(const consort_msg &, const Record &, uint32_t rank) noexcept;
  void raise(uint32_t event, uint32_t rank) noexcept;
  void tell(const Report &) noexcept;

  const Settings settings_;
  const consort_boot &boot_;  // lent for the rank's lifetime; the secret is never copied
  const uint32_t rank_;
  const uint64_t token_;
  Address mine_{};
  uint64_t probe_ = 0, number_ = 0;  // by chance
  Fd epoll_, wake_, listener_;
  std::mutex mutex_;  // guards the following fields
  bool armed_ = false;
  uint32_t turns_ = 0;
  std::string complaint_;  // for the log, when the lock is free
  std::vector<Link> links_;
  std::vector<uint32_t> up_;
  std::list<Pending> pending_;
  std::map<uint64_t, Region> regions_;
  uint64_t last_region_ = 0;
  ReportRing told_;
  std::vector<Op> ops_;
  std::vector<uint32_t> free_ops_;
  std::list<consort_msg> receives_, spare_receives_;
  std::list<Arrived> arrived_, spare_arrived_;
  std::list<Fetch> spare_fetches_;
};

}  // namespace shm
