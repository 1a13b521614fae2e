// ranks.hpp — ranks of the transport under test, each with a record of posts and completions.
//
// Each Rank has a plugin instance and a host of its own, like a process. One thread at a time posts and polls on a
// Rank; connect and disconnect may come from another. Each result of poll() is checked against the record: it was
// posted, and has not ended before. A transport that connects only to itself is tested as one rank that is its own
// peer.
#pragma once
#include <consort/transport.h>

#include <memory>
#include <string>
#include <vector>

#include "conform/case.hpp"
#include "conform/plugin.hpp"
#include "conform/transport/board.hpp"

namespace conform {

inline unsigned long long number(uint64_t n) { return n; }  // for printf

// Bytes surrounded by guard bytes.
class Block {
 public:
  explicit Block(size_t n, unsigned char fill = 0);
  unsigned char *data() { return bytes_.data() + kAround; }
  size_t size() const { return n_; }
  unsigned char &operator[](size_t i) { return data()[i]; }
  consort_addr addr(uint64_t off = 0) { return {reinterpret_cast<uint64_t>(data()), off}; }
  bool is_kept() const;               // the guard bytes are intact
  bool is(unsigned char fill) const;  // all bytes have that value

 private:
  static constexpr size_t kAround = 256;
  static constexpr unsigned char kGuard = 0xA7;
  std::vector<unsigned char> bytes_;
  size_t n_;
};

std::vector<uint8_t> usual_secret();

struct JobOptions {
  uint32_t nranks = 2;
  std::string job;  // "": a new one
  std::vector<uint8_t> secret = usual_secret();
  uint64_t sim_domain = 0;  // not 0: its host's clock stands still until World advances it
};

class Rank {
 public:
  static constexpr uint64_t kToken = 0x70cE;

  // Opens it; opened() is the status.
  Rank(Trial &, Board &, uint32_t number, const JobOptions &);
  ~Rank();
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;
  void close();

  consort_status opened() const { return opened_; }
  bool is_open() const { return t_ != nullptr; }
  uint32_t number() const { return boot_.rank; }
  const consort_transport_ops &ops() const { return ops_; }
  const consort_tcaps &caps() const { return caps_; }
  const consort_boot &boot() const { return boot_; }
  void *raw() const { return t_; }
  Plugin &plugin() { return plugin_; }
  Host &host() { return plugin_.host(); }
  bool can(uint32_t flag) const { return caps_.flags & flag; }

  std::vector<unsigned char> address();
  consort_status connect(uint32_t rank, const std::vector<unsigned char> &address);
  void disconnect(uint32_t rank);
  uint32_t count(uint32_t event, uint32_t rank);  // events of this kind about that rank so far
  consort_status reg(Block &, size_t at, size_t bytes, consort_mr *out);
  void dereg(const consort_mr &);

  // Returns the cookie, or 0 if there is no room.
  uint64_t try_post(consort_msg);
  uint32_t post_all(
      std::vector<consort_msg> &);  // all in one call; sets their cookies; returns the number accepted
  void cancel(uint64_t cookie);
  consort_status arm();                               // if the table has it
  uint32_t poll(uint32_t max = 16);                   // returns the number of completions and notifications
  const consort_done *end_of(uint64_t cookie) const;  // nullptr: in progress
  size_t under_way() const { return posted_ - ended_; }
  std::vector<consort_done> notes;  // notifications in order
  std::vector<uint64_t> order;      // cookies in the order of completion

 private:
  struct Entry {
    bool is_over = false;
    consort_done done{};
  };
  uint64_t cookie_of(size_t i) const { return (uint64_t{number()} + 1) << 40 | i; }
  void book(const consort_done &);
  consort_status known(consort_status, const char *what);

  Trial &trial_;
  JobOptions job_;
  Plugin plugin_;
  consort_transport_ops ops_;
  consort_boot boot_{};
  consort_tcaps caps_{};
  void *t_ = nullptr;
  consort_status opened_ = CONSORT_E_INTERNAL;
  std::vector<Entry> book_;
  size_t posted_ = 0, ended_ = 0;
};

consort_msg send_of(uint32_t peer, consort_addr, uint64_t bytes, uint64_t tag);
consort_msg receive_of(uint32_t peer, consort_addr, uint64_t bytes, uint64_t tag, uint64_t ignore = 0);
consort_msg reach_of(uint16_t kind, uint32_t peer, consort_addr local, uint64_t bytes, consort_addr remote,
                     const consort_mr &);

struct Claim {  // of the capabilities; 0: none
  uint32_t flag = 0;
  const char *what = "";
};

// The ranks of one job, all connected with each other; or one connected with itself (is_alone).
class World {
 public:
  // Skips the case where the first rank does not claim that, before it opens the others.
  explicit World(Trial &, uint32_t nranks = 2, uint64_t sim_domain = 0, Claim = {});

  Rank &operator[](size_t i) { return *ranks_[is_alone() ? 0 : i]; }
  Rank &a() { return *ranks_.front(); }
  Rank &b() { return *ranks_.back(); }
  bool is_alone() const { return ranks_.size() == 1; }
  bool is_virtual() const { return job_.sim_domain != 0; }
  Board &board() { return board_; }
  const JobOptions &job() const { return job_; }
  void must(uint32_t flag, const char *what);  // skips the case if the flag is not claimed

  bool pump();  // polls each rank once; in virtual time, advances the clock if nothing came
  // Pumps until the condition holds; fails the case if nothing has moved for some seconds.
  template <class F>
  void until(const char *what, F holds) {
    for (Patience patience; !holds();) {
      if (pump())
        patience = Patience();
      else
        t_.need(patience.wait(), "nothing moves any more, while waiting until %s", what);
    }
  }
  uint64_t post(Rank &, const consort_msg &);  // pumps until there is room
  consort_done end(Rank &, uint64_t cookie);   // pumps until it has ended
  void settle();                               // pumps until nothing is in progress
  void idle();                                 // pumps for a while without a condition
  void connect(Rank &, Rank &);

  class Patience {  // yields first, then sleeps
   public:
    explicit Patience(uint64_t seconds = 3) : seconds_(seconds) {}
    bool wait();  // false: the time has passed
   private:
    uint64_t seconds_;
    uint64_t began_ = Board::now();
    uint32_t turns_ = 0;
  };

 private:
  Trial &t_;
  Board board_;
  JobOptions job_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

std::string fresh_job();

}  // namespace conform
