// The room remote: one program on several ranks. Owners of data (owners.hpp), where a task runs and what it needs from
// other ranks (placement.cpp), messages as tasks (message.hpp, job.hpp), their matching and bytes (matching.hpp, wire.hpp),
// the transport (connection.hpp), the start (folder_boot.hpp). It includes exec and below; replay and those above use it.
// Start with job.hpp, then placement.cpp.
//
// job.hpp — this rank in its job: the other ranks, and the messages to and from them.
//
// One thread drives the transport and ends the messages. Any thread may take a turn of a message: it then posts at once.
// One mutex guards all fields; it is a leaf, and no task is ended under it.
#pragma once
#include <consort/transport.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/park.hpp"
#include "exec/other_ranks.hpp"
#include "remote/connection.hpp"
#include "remote/folder_boot.hpp"
#include "remote/matching.hpp"
#include "remote/message.hpp"
#include "remote/owners.hpp"
#include "remote/thread_ranks.hpp"
#include "task/kinds.hpp"

namespace consort {

struct Distribution;
struct Datum;

struct JobSettings {
  const consort_boot *boot = nullptr;     // of the application; nullptr: the folder of the settings, or a job of one rank
  std::string transport;
  int64_t timeout_ns = 0;
};

class Job final : public ConnectionOwner, public OtherRanks {
 public:
  // [control] All ranks call it. Returns when all are connected.
  static consort_status join(Distribution &, const JobSettings &) noexcept;
  ~Job();                                 // [control] leaves the job. Precondition: no message is pending

  uint32_t rank() const noexcept { return boot_.rank; }
  uint32_t ranks() const noexcept { return boot_.nranks; }
  const char *name() const noexcept { return boot_.job; }
  const std::string &host(uint32_t rank) const noexcept { return peers_[rank].host; }
  const std::string &transport() const noexcept { return transport_; }
  const consort_boot *boot() const noexcept { return &boot_; }
  RankBoot *meeting() const noexcept { return folder_ ? static_cast<RankBoot *>(folder_.get()) : thread_rank_; }
  consort_status state_of(uint32_t rank, std::string *how) noexcept;  // OK, or E_PEER_LOST and how it was lost

  // -- messages: submitted like tasks, in the order of the calls --
  struct Options {
    consort_group_id group{};
    consort_done_fn *done = nullptr;
    void *done_arg = nullptr;
    bool is_confirmed = false;
  };
  consort_status send(ThreadState &, consort_data_id, uint32_t to, MessageKey::Class, uint64_t tag, const Options &,
                      TaskName *) noexcept;
  consort_status receive(ThreadState &, consort_data_id, uint32_t from, MessageKey::Class, uint64_t tag, const Options &,
                         TaskName *) noexcept;
  consort_status barrier(ThreadState &, TaskName *) noexcept;

  // -- the sequence of distributed tasks, submitted by one thread at a time --
  class Sequence {                        // false: another thread is inside
   public:
    explicit Sequence(Job &job) noexcept : job_(job), is_mine_(!job.is_in_sequence_.exchange(true, std::memory_order_acquire)) {}
    ~Sequence() {
      if (is_mine_) job_.is_in_sequence_.store(false, std::memory_order_release);
    }
    Sequence(const Sequence &) = delete;
    Sequence &operator=(const Sequence &) = delete;
    explicit operator bool() const noexcept { return is_mine_; }

   private:
    Job &job_;
    const bool is_mine_;
  };
  Owners owners;                          // used inside a Sequence

  // -- called by the kind and by the transport --
  bool bring(Task *) noexcept;
  KindTable::Turn ready(ThreadState &, Task *) noexcept;
  void event(uint32_t what, uint32_t rank) noexcept;
  std::string describe(TaskName);         // what a message waits for; "": no message. May throw

  // -- virtual time: called by the thread that pumps --
  bool step(ThreadState &) noexcept override;
  uint64_t advance(uint64_t until) noexcept override;

  void arrived(uint32_t rank, const Control &, std::span<const std::byte> payload) override;
  void moved(uint64_t id, consort_status, uint64_t bytes) override;
  void up(uint32_t rank) override;
  void lost(uint32_t rank, const char *how) override;

 private:
  static constexpr uint32_t kCredits = 64;  // short contents that a rank stores for another without a receive
  struct Peer {
    std::string host, how;                // how: it was lost
    bool is_up = false, is_lost = false;
    bool has_left = false;                // it sends nothing more
    bool has_seen = false;                // that this rank leaves
    bool needs_nothing() const noexcept { return is_lost || has_left || has_seen; }
    uint32_t credits = kCredits, freed = 0;
  };
  struct Action {
    enum What : uint8_t { kResume, kSendContents, kUnpack, kEnd } what;
    Message *message;
  };
  struct CountKey {
    uint32_t peer;
    MessageKey::Class cls;
    bool is_send;
    uint64_t tag;
    bool operator<(const CountKey &o) const noexcept {
      return std::tie(tag, peer, cls, is_send) < std::tie(o.tag, o.peer, o.cls, o.is_send);
    }
  };

  explicit Job(Distribution &rt) noexcept : rt_(rt) {}
  Result<void> open(const JobSettings &);
  Result<const Plugin *> transport_of(const JobSettings &, uint64_t deadline);
  Result<void> meet(uint64_t deadline);
  void run() noexcept;
  void leave() noexcept;
  void leave_simulated() noexcept;
  bool pass_time() noexcept;
  bool fail_what_waits() noexcept;
  void rest() noexcept;

  consort_status submit(ThreadState &, consort_data_id, Message::Kind, const MessageKey &, const Options &, TaskName *);
  consort_status check_peer(uint32_t rank) const noexcept;
  // A send or a receive: checks the peer, and converts bad_alloc.
  consort_status exchange(ThreadState &, consort_data_id, Message::Kind, const MessageKey &, const Options &,
                          TaskName *) noexcept;

  // -- without the lock: the calling thread owns the message's task --
  KindTable::Turn begin_send(Message &, Datum &) noexcept;
  KindTable::Turn begin_receive(Message &, Datum &) noexcept;
  KindTable::Turn take_payload(Message &, Datum &) noexcept;
  KindTable::Turn done(Message &) noexcept;
  KindTable::Turn give_up(Message &, consort_status) noexcept;  // error text set
  void refuse(Message &, consort_status, const char *why) noexcept;
  void act(ThreadState &, Action) noexcept;
  void act_send(Message &, Datum &) noexcept;
  void end(ThreadState &, Message &) noexcept;
  void forget(Message &) noexcept;

  // -- under the lock; those without noexcept may throw bad_alloc --
  bool expect(Message &);
  bool offer_unstaged(Message &);
  void offer(Message &, Control, std::span<const std::byte> payload);
  void post_contents(Message &, const void *);
  bool take_room(Message &);
  void give_room(Message &) noexcept;
  void send(uint32_t rank, Control, std::span<const std::byte> payload = {});
  void arrived_offer(uint32_t rank, const Control &, std::span<const std::byte> payload);
  void arrived_go(uint32_t rank, const Control &);
  void arrived_taken(uint32_t rank, const Control &, std::span<const std::byte> text);
  void arrived_barrier(const Control &, std::span<const std::byte> text);
  void answer_bye(uint32_t rank);
  bool begin_barrier(Message &);
  bool advance_barrier(Message &);
  bool needs(const Message &barrier, uint32_t rank) const noexcept;
  void fail_barrier(Message &, std::string why);
  Message *find(uint64_t id, uint32_t rank, Message::Kind) noexcept;
  void fail_at_end(Message &, consort_status, std::string why);
  std::string lost_text(uint32_t rank) const;

  Distribution &rt_;
  consort_boot boot_{};
  const Clock world_{false, 0};           // of the start and the end, also in virtual time
  std::unique_ptr<FolderBoot> folder_;
  ThreadRank *thread_rank_ = nullptr;     // the job's ranks are threads
  bool is_counted_ = false;               // there
  bool said_stuck_ = false;               // used by the thread that pumps
  std::string transport_;
  std::vector<Peer> peers_{1};
  bool is_limited_ = false;               // the host's memory is counted
  std::atomic<bool> is_in_sequence_{false};  // acquire and release: see Sequence

  std::mutex mutex_;                      // guards the following fields, and peers_
  std::unique_ptr<Connection> connection_;  // nullptr: a job of one rank
  std::unordered_map<uint64_t, std::unique_ptr<Message>> messages_;
  uint64_t last_id_ = 0;
  std::map<CountKey, uint64_t> counts_;   // messages submitted so far
  Matching matching_;
  std::vector<Action> actions_;           // to be done without the lock
  Message *room_ = nullptr;               // the receive that may hold limited memory
  std::deque<Message *> want_room_;
  uint64_t barriers_ = 0;
  std::set<std::pair<uint64_t, uint64_t>> rounds_;  // barriers and rounds of which a message has come
  std::map<uint64_t, std::string> failed_barriers_;  // on another rank, with the reason
  std::map<uint64_t, Message *> open_barriers_;
  uint32_t up_ = 0;
  bool is_leaving_ = false;

  std::thread thread_;
  std::atomic<bool> stopping_{false};     // release in ~Job pairs with acquire in run()
  Parker parker_;
};

// The table of kMessage.
void set_message_kind(Kinds &) noexcept;

// For consort.boot/1: the table of this rank's job; nullptr: none.
const consort_boot *boot_service(Distribution &) noexcept;

}  // namespace consort
