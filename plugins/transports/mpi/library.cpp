// A Library, by the mpi.h that this file is compiled with.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "library.hpp"

#include <mpi.h>

#include <string.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>

#include "../packets/packet.hpp"

namespace mpi {
namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

constexpr int kPacketTag = 0, kFirstDataTag = 1;
constexpr int kLooks = 8;  // in one call of progress(), at transfers of which none has ended
constexpr std::chrono::microseconds kNap{20}, kCancel{500'000}, kSend{20'000};  // clear() waits for receives, sends

void must(int code, const char *what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int n = 0;
  MPI_Error_string(code, text, &n);
  throw std::runtime_error(std::string(what) + ": " + std::string(text, static_cast<size_t>(n)));
}

bool is_over_now() noexcept {
  int over = 0;
  return MPI_Finalized(&over) == MPI_SUCCESS && over;
}

// Receives of packets stand in the order of their posts. The other requests stand in one dense array, which MPI_Testsome looks
// through.
class TheChannel final : public Channel {
 public:
  explicit TheChannel(MPI_Comm from) { must(MPI_Comm_idup(from, &comm_, &making_), "MPI_Comm_idup"); }
  bool is_ready() override {
    if (is_open()) return true;
    if (step_ == Step::kFailed) throw std::runtime_error("MPI_Comm_idup has failed before");
    int done = 0;
    const int code = MPI_Test(&making_, &done, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !done) return false;
    step_ = Step::kFailed;
    must(code, "MPI_Comm_idup");
    must(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    must(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    must(MPI_Comm_size(comm_, &ranks_), "MPI_Comm_size");
    int *most = nullptr, is_set = 0;
    must(MPI_Comm_get_attr(comm_, MPI_TAG_UB, &most, &is_set), "MPI_TAG_UB");
    most_tag_ = is_set && most ? *most : 32767;
    step_ = Step::kReady;
    return true;
  }
  bool is_open() const noexcept { return step_ == Step::kReady; }
  // Some ranks have not joined yet: MPI cannot be finished.
  bool is_starting() const noexcept { return step_ == Step::kMaking || is_gathering(); }
  // Whether it is over the same ranks: a number of MPI_Comm_c2f is given away again when its communicator is freed.
  bool is_over(MPI_Comm other) const noexcept {
    if (!is_open()) return step_ == Step::kMaking;
    int result = MPI_UNEQUAL;
    return MPI_Comm_compare(comm_, other, &result) == MPI_SUCCESS && (result == MPI_CONGRUENT || result == MPI_IDENT);
  }
  uint32_t rank() const noexcept override { return static_cast<uint32_t>(rank_); }
  uint32_t ranks() const noexcept override { return static_cast<uint32_t>(ranks_); }

  bool gather(const void *mine, size_t n) override {
    const int count = static_cast<int>(n);
    lent_.resize(n + n * ranks());  // the own value, then those of all
    std::memcpy(lent_.data(), mine, n);
    if (MPI_Iallgather(lent_.data(), count, MPI_BYTE, lent_.data() + n, count, MPI_BYTE, comm_, &gather_) == MPI_SUCCESS) return true;
    wipe_lent();
    return false;
  }
  bool gathered(void *out, bool *failed) noexcept override {
    int done = 0;
    *failed = MPI_Test(&gather_, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    if (*failed) return true;  // MPI may still use lent_
    if (!done) return false;
    const size_t n = lent_.size() / (size_t{ranks()} + 1);
    std::memcpy(out, lent_.data() + n, lent_.size() - n);
    wipe_lent();
    return true;
  }
  bool is_gathering() const noexcept override { return !lent_.empty(); }

  void reserve(size_t n) override {
    requests_.reserve(n), whose_.reserve(n), failed_.reserve(n), packets_.reserve(n);
    ended_.resize(n), statuses_.resize(n);
  }
  bool receive_packet(void *to, size_t room, Request r) noexcept override {
    Packet p{MPI_REQUEST_NULL, r, {}};
    const int code = MPI_Irecv(to, static_cast<int>(room), MPI_BYTE, MPI_ANY_SOURCE, kPacketTag, comm_, &p.request);
    if (code == MPI_SUCCESS) packets_.push_back(p);
    else failed_.push_back(r);
    return true;
  }
  bool send_packet(uint32_t rank, const void *from, size_t n, Request r) noexcept override {
    return send(from, n, static_cast<int>(rank), kPacketTag, r);
  }
  bool receive_data(uint32_t rank, uint64_t number, void *to, size_t n, Request r) noexcept override {
    return receive(to, n, static_cast<int>(rank), tag_of(number), r);
  }
  bool send_data(uint32_t rank, uint64_t number, const void *from, size_t n, Request r) noexcept override {
    return send(from, n, static_cast<int>(rank), tag_of(number), r);
  }
  void cancel(Request r) noexcept override {  // of a send: MPI libraries refuse it, and it ends when it has been received
    if (!is_receive(r)) return;
    for (size_t i = 0; i < whose_.size(); ++i)
      if (whose_[i].kind == r.kind && whose_[i].index == r.index && requests_[i] != MPI_REQUEST_NULL)  // null: it has ended
        MPI_Cancel(&requests_[i]);
  }
  uint32_t progress(std::span<Done> out) noexcept override {
    uint32_t n = 0;
    while (n < out.size() && !failed_.empty()) {
      out[n++] = {failed_.back(), false, 0};
      failed_.pop_back();
    }
    if (n == out.size() || is_over_now()) return n;
    // At most as many as there is room for: MPI_Testsome reports all that have ended.
    const int others = static_cast<int>(requests_.size());
    int count = 0;
    if (!found_) {
      look_for_packets();
      // Behind the look for packets. A long message moves on in these calls alone, a part in each.
      for (int look = 0; others && (!look || (look < kLooks && !count && !arrived_)); ++look) {
        const int code = MPI_Testsome(others, requests_.data(), &count, ended_.data(), statuses_.data());
        if (count == MPI_UNDEFINED || (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) count = 0;
        has_codes_ = code == MPI_ERR_IN_STATUS;
      }
      taken_ = 0, found_ = static_cast<uint32_t>(count);
    }
    // Packets come last: the last one of a peer follows what it has received.
    for (; n < out.size() && taken_ < found_; ++taken_) {
      const MPI_Status &s = statuses_[taken_];
      out[n++] = done_of(whose_[static_cast<size_t>(ended_[taken_])], s, !has_codes_ || s.MPI_ERROR == MPI_SUCCESS);
    }
    if (taken_ == found_) drop_ended();
    if (!arrived_) return n;
    size_t told = 0;
    for (; n < out.size() && !found_ && told < arrived_; ++told) out[n++] = done_of(packets_[told].whose, packets_[told].status, true);
    packets_.erase(packets_.begin(), packets_.begin() + static_cast<ptrdiff_t>(told));
    arrived_ -= told;
    return n;
  }
  uint64_t most_data() const noexcept override { return uint64_t{1} << 30; }
  uint64_t new_number() noexcept override { return ++number_; }

  // Receives the last packets of the others, which some libraries complain of. All ranks call it.
  void drain() noexcept {
    MPI_Barrier(comm_);
    char bytes[transports::kPacketBytes];
    for (int is_there = 1; is_there;) {
      if (MPI_Iprobe(MPI_ANY_SOURCE, kPacketTag, comm_, &is_there, MPI_STATUS_IGNORE) != MPI_SUCCESS || !is_there) return;
      if (MPI_Recv(bytes, sizeof bytes, MPI_BYTE, MPI_ANY_SOURCE, kPacketTag, comm_, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    }
  }

  // Cancels the receives and waits for their end, then for that of the sends. MPI does not cancel a matched receive, and a send
  // may end only when the peer receives it: MPI keeps the request and the memory of a transfer that is left.
  Unfinished clear() noexcept {
    Unfinished left;
    if (!is_over_now()) {
      for (size_t i = 0; i < requests_.size(); ++i)
        if (is_receive(whose_[i]) && requests_[i] != MPI_REQUEST_NULL) MPI_Cancel(&requests_[i]);
      for (Packet &p : packets_)
        if (p.request != MPI_REQUEST_NULL) MPI_Cancel(&p.request);
      for (const Time end = Clock::now() + kCancel; (left = unfinished()).receives && Clock::now() < end;) nap();
      for (const Time end = Clock::now() + kSend; left.sends && Clock::now() < end; left = unfinished()) nap();
      for (MPI_Request &r : requests_)
        if (r != MPI_REQUEST_NULL) MPI_Request_free(&r);
      for (Packet &p : packets_)
        if (p.request != MPI_REQUEST_NULL) MPI_Request_free(&p.request);
    }
    requests_.clear(), whose_.clear(), failed_.clear(), packets_.clear();
    taken_ = found_ = 0, arrived_ = 0;
    return left;
  }

 private:
  enum class Step { kMaking, kReady, kFailed };
  struct Packet {  // a receive of any rank
    MPI_Request request;
    Request whose;
    MPI_Status status;  // when it has ended
  };
  // Packets are received in the order of their receives, so the first receive alone tells whether one has come.
  void look_for_packets() noexcept {
    for (; arrived_ < packets_.size(); ++arrived_) {
      Packet &p = packets_[arrived_];
      int done = 0;
      if (MPI_Test(&p.request, &done, &p.status) != MPI_SUCCESS || !done) return;
    }
  }
  static Done done_of(Request whose, const MPI_Status &s, bool is_good) noexcept {
    int cancelled = 0, bytes = 0;
    MPI_Test_cancelled(&s, &cancelled);
    MPI_Get_count(&s, MPI_BYTE, &bytes);
    return {whose, is_good && !cancelled, bytes < 0 ? 0 : static_cast<uint64_t>(bytes)};
  }
  void wipe_lent() noexcept {  // it may hold the secret
    explicit_bzero(lent_.data(), lent_.size());
    lent_.clear();
  }
  static bool is_receive(Request r) noexcept { return r.kind == Kind::kPacketIn || r.kind == Kind::kDataIn; }
  static void nap() { std::this_thread::sleep_for(kNap); }
  // The requests that have not ended. Sets the others to MPI_REQUEST_NULL.
  Unfinished unfinished() noexcept {
    Unfinished left;
    for (size_t i = 0; i < requests_.size(); ++i) {
      int done = 0;
      if (requests_[i] != MPI_REQUEST_NULL) (void)MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      if (requests_[i] != MPI_REQUEST_NULL) ++(is_receive(whose_[i]) ? left.receives : left.sends);
    }
    for (Packet &p : packets_) {
      int done = 0;
      if (p.request != MPI_REQUEST_NULL) (void)MPI_Test(&p.request, &done, MPI_STATUS_IGNORE);
      left.receives += p.request != MPI_REQUEST_NULL;
    }
    return left;
  }
  int tag_of(uint64_t number) const noexcept {
    return kFirstDataTag + static_cast<int>(number % static_cast<uint64_t>(most_tag_ - kFirstDataTag));
  }
  bool receive(void *to, size_t room, int rank, int tag, Request r) noexcept {
    if (found_) return false;
    MPI_Request made;
    const int code = MPI_Irecv(to, static_cast<int>(room), MPI_BYTE, rank, tag, comm_, &made);
    return add(code, made, r);
  }
  bool send(const void *from, size_t n, int rank, int tag, Request r) noexcept {
    if (found_) return false;
    MPI_Request made;
    const int code = MPI_Isend(from, static_cast<int>(n), MPI_BYTE, rank, tag, comm_, &made);
    return add(code, made, r);
  }
  bool add(int code, MPI_Request made, Request r) noexcept {  // reserve() has made room
    if (code == MPI_SUCCESS) requests_.push_back(made), whose_.push_back(r);
    else failed_.push_back(r);
    return true;
  }
  // MPI has set them to MPI_REQUEST_NULL.
  void drop_ended() noexcept {
    if (!found_) return;
    size_t kept = 0;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i], whose_[kept] = whose_[i];
      ++kept;
    }
    requests_.resize(kept), whose_.resize(kept);
    taken_ = found_ = 0;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  Step step_ = Step::kMaking;
  MPI_Request making_ = MPI_REQUEST_NULL, gather_ = MPI_REQUEST_NULL;
  std::vector<std::byte> lent_;  // to gather_
  int rank_ = 0, ranks_ = 1, most_tag_ = 32767;
  uint64_t number_ = 0;  // never goes back: a late message of an earlier job meets no receive
  std::vector<MPI_Request> requests_;
  std::vector<Request> whose_, failed_;
  std::vector<Packet> packets_;  // in the order of their posts
  size_t arrived_ = 0;           // the first of them, which have ended
  std::vector<int> ended_;
  std::vector<MPI_Status> statuses_;
  uint32_t found_ = 0, taken_ = 0;  // in ended_
  bool has_codes_ = false;
};

class TheLibrary final : public Library {
 public:
  std::string version() override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n = 0;
    MPI_Get_library_version(text, &n);
    const std::string all(text, static_cast<size_t>(n));
    return all.substr(0, all.find_first_of(",\n"));
  }
  bool is_started() override {
    int started = 0;
    return MPI_Initialized(&started) == MPI_SUCCESS && started;
  }
  bool is_over() noexcept override { return is_over_now(); }
  bool is_ours() noexcept override { return is_ours_; }
  Threads start(Threads wanted) override {
    int level = MPI_THREAD_SINGLE;
    const bool is_new = !is_started();
    if (is_new) {
      must(MPI_Init_thread(nullptr, nullptr, wanted == Threads::kAll ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level),
           "MPI_Init_thread");
      must(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    } else {
      must(MPI_Query_thread(&level), "MPI_Query_thread");
    }
    is_ours_ |= is_new;
    return level == MPI_THREAD_MULTIPLE ? Threads::kAll : level == MPI_THREAD_SERIALIZED ? Threads::kSerial : Threads::kOne;
  }
  void finish() noexcept override {
    if (is_over_now()) return;
    for (const auto &[number, channel] : channels_)
      if (channel && channel->is_starting()) return;  // a rank has not joined, and would not finish either
    for (const auto &channel : replaced_)
      if (channel->is_starting()) return;
    for (auto &[number, channel] : channels_)
      if (channel && channel->is_open()) channel->drain();
    MPI_Finalize();
  }
  Channel &open(const int *communicator) override {
    const MPI_Comm from = communicator ? MPI_Comm_f2c(static_cast<MPI_Fint>(*communicator)) : MPI_COMM_WORLD;
    if (from == MPI_COMM_NULL) throw std::runtime_error("there is no such communicator");
    std::unique_ptr<TheChannel> &channel = channels_[communicator ? *communicator : MPI_Comm_c2f(MPI_COMM_WORLD)];
    if (channel && !channel->is_over(from)) replaced_.push_back(std::move(channel));
    if (!channel) channel = std::make_unique<TheChannel>(from);
    return *channel;
  }
  Unfinished close(Channel &c) noexcept override { return static_cast<TheChannel &>(c).clear(); }
  void abort() noexcept override { MPI_Abort(MPI_COMM_WORLD, 1); }

 private:
  bool is_ours_ = false;
  std::vector<std::unique_ptr<TheChannel>> replaced_;    // MPI may use their memory
  std::map<int, std::unique_ptr<TheChannel>> channels_;  // by MPI_Comm_c2f; duplicated once, as that is collective
};

}  // namespace
}  // namespace mpi

extern "C" __attribute__((visibility("default"))) mpi::Library *consort_mpi_library() {
  static auto *const library = new mpi::TheLibrary;  // used until the process ends
  return library;
}
