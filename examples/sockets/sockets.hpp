// sockets.hpp — one rank of a job, with a TCP connection to each peer: matching, credits, cancellation, loss.
//
// Of two ranks the one with the smaller number dials. Each sends a hello with a nonce and proves the job's secret by an
// HMAC over both hellos (connections.cpp). Messages of up to 1 KiB follow their frame, as far as the receiver has room
// (`unexpected`); longer ones are offered, stay with their sender, and go in pieces from memory to memory once a receive
// wants them (messages.cpp). stream.cpp reads and writes as much as a socket takes.
//
// Budgets: `depth` sends and `depth` receives, from post() until poll() has reported them. All memory is allocated by open()
// and connect(). One lock, held by each call and never while the host is called. No thread; poll() drives everything.
#pragma once
#include <consort/plugin/transport.hpp>

#include <array>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fd.hpp"
#include "frame.hpp"

namespace sockets {

using namespace consort::plugin;

class Sockets : public Transport {
 public:
  static constexpr const char *summary = "messages over TCP sockets: a transport to learn from", *license = "Apache-2.0";
  static constexpr Param<uint32_t> depth{"depth", "128", "1..4096", "sends under way, and as many receives; the same on all ranks"};
  static constexpr Param<uint32_t> unexpected{"unexpected", "64", "0..4096", "short messages stored for each peer; the same on all ranks"};
  static constexpr Param<std::string> host_address{"host", "127.0.0.1", "", "address of this machine to listen on"};
  static constexpr auto params = parameters(depth, unexpected, host_address);
  struct Settings {
    explicit Settings(Host host) : depth(host.value(Sockets::depth)), unexpected(host.value(Sockets::unexpected)), address(host.value(host_address)) {}
    uint32_t depth, unexpected;
    std::string address;
  };

  Sockets(const Settings &, Host, const consort_boot &, uint64_t token, consort_tcaps &);
  ~Sockets();
  uint32_t address(std::span<std::byte> room) noexcept;
  void connect(uint32_t rank, std::span<const std::byte> address);
  void disconnect(uint32_t rank) noexcept;
  uint32_t post(Messages) noexcept;
  uint32_t poll(std::span<consort_done>) noexcept;
  int event_fd() noexcept { return epoll_.get(); }
  consort_status arm() noexcept;

 private:
  static constexpr uint32_t kInline = 256, kStrangers = 16, kInBuffer = 16 << 10;
  static constexpr uint32_t kNone = UINT32_MAX, kListener = UINT32_MAX, kWake = UINT32_MAX - 1, kFirstStranger = 1U << 31;
  enum class State : uint8_t { kNone, kWanted, kUp, kLost };
  enum class Step : uint8_t { kFree, kCarried, kOffered, kMoving };
  using Id = std::array<uint8_t, 16>;

  struct Op {  // a SEND
    consort_msg m;
    uint32_t generation = 0;
    Step step = Step::kFree;
    bool is_cancelled = false;  // asked
    uint64_t receive = 0, total = 0, done = 0;  // of a long one: the peer's receive, bytes that it takes, bytes sent
    char bytes[kInline];        // of an INLINE one
  };
  struct Fetch {  // a RECV that has matched an offer
    consort_msg m;
    uint32_t rank = kNone, generation = 0;  // kNone: free
    uint64_t tag = 0, bytes = 0, total = 0, done = 0;
  };
  struct Arrived {  // a message without a RECV
    Frame f;
    uint32_t rank, kept;  // kept: its place in Link::store; kNone: an offer
  };
  struct Out {  // a frame to be written
    Frame f;
    uint32_t op;  // whose bytes follow; kNone: none do
  };
  struct Writing {  // the frame at hand
    bool is_begun = false, is_data = false;
    std::byte head[kFrameBytes];
    uint32_t op = kNone;
    const char *body = nullptr;
    uint64_t bytes = 0, done = 0;  // done: also of the head
  };
  struct Reading {
    std::unique_ptr<std::byte[]> buffer;
    uint32_t begin = 0, end = 0;
    Frame f;
    char *to = nullptr;
    uint64_t left = 0;  // bytes that go there; the frame is at its end when there are none
    char body[kShort];
  };
  struct Link {
    State state = State::kNone;
    uint32_t events = 0;  // not yet reported
    Fd fd;
    bool has_hello = false, watches_output = false;
    Id id{};
    Hello mine, theirs;
    std::byte greeting[kHelloBytes + kProofBytes], heard[kHelloBytes];
    uint32_t greeting_bytes = 0, greeting_sent = 0, heard_bytes = 0;
    std::vector<Out> out;           // a ring
    size_t out_first = 0, out_count = 0;
    std::vector<uint32_t> ready;    // a ring: ops that have data to send
    size_t ready_first = 0, ready_count = 0;
    Writing writing;
    Reading reading;
    std::unique_ptr<char[]> store;  // `unexpected` short messages
    std::vector<uint32_t> free_store;
    uint64_t sent = 0, sent_freed = 0;   // short messages to the peer; of these, stored there no longer
    uint64_t freed = 0, freed_told = 0;  // likewise of the peer
    uint32_t announced = 0, nodes = 0;   // offers of the peer in arrived_; its nodes in spare_arrived_
  };
  struct Stranger {  // accepted, and not known yet
    Fd fd;
    std::byte heard[kHelloBytes];
    uint32_t bytes = 0;
    uint64_t number = 0;
    Hello hello;
    bool is_known = false;  // the hello is good; its rank is not expected yet
  };
  struct Report {
    consort_done done;
    uint32_t event;  // 0: a completion; of a receive if is_receive
    bool is_receive;
  };

  // connections.cpp
  void watch(const Fd &, uint32_t what, uint32_t number) noexcept;
  void accept_all() noexcept;
  void hear(Stranger &) noexcept;
  void adopt(Stranger &) noexcept;
  bool hear_greeting(uint32_t rank) noexcept;
  void greet(Link &, const Hello *, bool proves) noexcept;
  void mac(uint8_t (&out)[kProofBytes], const Hello &from, const Hello &to) const noexcept;
  void lose(uint32_t rank, bool tells) noexcept;
  void hang_up(Link &) noexcept;

  // stream.cpp
  void read_some(uint32_t rank) noexcept;
  void write_some(uint32_t rank) noexcept;
  bool next_frame(Link &) noexcept;
  void written(uint32_t rank) noexcept;
  bool begin_body(uint32_t rank) noexcept;
  void queue(uint32_t rank, Frame, uint32_t op = kNone) noexcept;

  // messages.cpp
  bool take(const consort_msg &) noexcept;
  consort_status judge(const consort_msg &) const noexcept;
  bool send(const consort_msg &) noexcept;
  void receive(const consort_msg &) noexcept;
  void cancel(uint64_t cookie) noexcept;
  bool hear(uint32_t rank, const Frame &) noexcept;
  bool hear_message(uint32_t rank, const Frame &) noexcept;
  bool hear_end_of_data(uint32_t rank, const Frame &) noexcept;
  void begin_fetch(const consort_msg &, const Frame &, uint32_t rank) noexcept;
  void freed_one(uint32_t rank) noexcept;
  Op *op_of(uint64_t id, uint32_t rank) noexcept;
  Fetch *fetch_of(uint64_t id, uint32_t rank) noexcept;
  void end_op(Op &, consort_status, uint64_t bytes = 0) noexcept;
  void end_fetch(Fetch &, consort_status) noexcept;
  void finish(const consort_msg &, consort_status, uint64_t bytes = 0) noexcept;
  void received(const consort_msg &, uint32_t rank, uint64_t tag, uint64_t bytes) noexcept;
  void raise(uint32_t event, uint32_t rank) noexcept;
  void tell(const Report &) noexcept;
  void complain(uint32_t rank, const char *what) noexcept;

  const Settings settings_;
  const consort_boot &boot_;  // lent; the secret is never copied
  const uint32_t rank_;
  const uint64_t token_, job_;
  Id id_;
  sockaddr_in at_{};
  Fd listener_, wake_, epoll_;
  std::mutex mutex_;  // guards what follows
  bool is_armed_ = false;
  char complaint_[160] = "";  // for the log, when the lock is free
  uint64_t strangers_seen_ = 0;
  uint32_t sends_owed_ = 0, receives_owed_ = 0;
  std::vector<Link> links_;
  std::array<Stranger, kStrangers> strangers_;
  std::vector<Op> ops_;
  std::vector<Fetch> fetches_;
  std::vector<uint32_t> free_ops_, free_fetches_;
  std::list<consort_msg> receives_, spare_receives_;
  std::list<Arrived> arrived_, spare_arrived_;
  std::vector<Report> told_;  // a ring
  size_t told_first_ = 0, told_count_ = 0;
};

inline char *bytes_of(const consort_msg &m) noexcept { return reinterpret_cast<char *>(m.local.base + m.local.off); }

}  // namespace sockets
