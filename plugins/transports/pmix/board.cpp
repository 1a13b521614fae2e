#include "board.hpp"

#include <sys/random.h>

#include <cctype>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "../boards.hpp"
#include "library.hpp"
#include "solo.hpp"

namespace pmix {
namespace {

using consort::plugin::Error, consort::plugin::Host;

constexpr std::chrono::milliseconds kTurn{20};   // between two looks at the host's clock
constexpr uint32_t kMostSecret = 32, kMostValue = 1 << 20;

// What a thread of libpmix answers. It is shared, because the answer may come after the caller has given up.
struct Answer {
  std::mutex mutex;                              // guards the fields below
  std::condition_variable changed;
  bool has_come = false;
  pmix_status_t status = PMIX_SUCCESS;
  std::string bytes;
  uint32_t number = 0;

  void come(pmix_status_t s, const pmix_value_t *v) {
    const std::lock_guard guard(mutex);
    has_come = true, status = s;
    if (v && v->type == PMIX_BYTE_OBJECT) bytes.assign(v->data.bo.bytes ? v->data.bo.bytes : "", v->data.bo.size);
    if (v && v->type == PMIX_UINT32) number = v->data.uint32;
    changed.notify_all();
  }
  bool wait(Host host, uint64_t deadline) {
    std::unique_lock guard(mutex);
    while (!has_come && host.now() < deadline) changed.wait_for(guard, kTurn);
    return has_come;
  }
};
using Shared = std::shared_ptr<Answer>;

Shared taken(void *from) {
  const std::unique_ptr<Shared> own(static_cast<Shared *>(from));
  return *own;
}

class Board {
 public:
  Board(Host host, uint64_t deadline) : client_(Client::get()), library_(client_.library()), host_(host) {
    static unsigned boots = 0;                   // equal on all ranks, which start up together
    prefix_ = "consort." + std::to_string(++boots) + ".";
    std::memset(&all_, 0, sizeof all_);
    std::memcpy(all_.nspace, client_.self().nspace, sizeof all_.nspace);
    all_.rank = PMIX_RANK_WILDCARD;
    ranks_ = ask(all_, PMIX_JOB_SIZE, deadline)->number;
    if (ranks_ == 0) throw Error(CONSORT_E_IO, "the launcher's PMIx server does not know the number of ranks");
    if (rank() == 0) {
      secret_.resize(kMostSecret);
      if (getrandom(secret_.data(), kMostSecret, 0) != ssize_t{kMostSecret}) throw Error(CONSORT_E_IO, "the system gives no random numbers");
      put("secret", secret_.data(), kMostSecret);
    }
    fence(deadline);
    if (rank() != 0) secret_ = value_of(0, "secret", deadline);
    if (secret_.size() != kMostSecret) throw Error(CONSORT_E_IO, "rank 0 has put no secret");
    job_ = "pmix-" + std::to_string(boots) + "-";
    for (const char *c = all_.nspace; *c && job_.size() < 60; ++c) job_ += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '-';
  }
  ~Board() { explicit_bzero(secret_.data(), secret_.size()); }
  Board(const Board &) = delete;
  Board &operator=(const Board &) = delete;

  consort_boot boot() const noexcept {
    consort_boot b{};
    b.size = sizeof b;
    b.rank = rank(), b.nranks = ranks_;
    b.job = job_.c_str();
    b.secret = reinterpret_cast<const uint8_t *>(secret_.data()), b.nsecret = kMostSecret;
    return b;
  }

  void put(const char *key, const void *bytes, uint32_t n) {
    if (n > kMostValue) throw Error(CONSORT_E_INVAL, "a rank puts more than 1 MiB");
    pmix_value_t v;
    std::memset(&v, 0, sizeof v);
    v.type = PMIX_BYTE_OBJECT;
    v.data.bo.bytes = static_cast<char *>(const_cast<void *>(bytes));  // it is copied
    v.data.bo.size = n;
    must(library_.put(PMIX_GLOBAL, name_of(key).c_str(), &v), "PMIx_Put");
  }

  void get(uint32_t rank, const char *key, void *out, uint32_t *n, uint64_t deadline) {
    if (rank >= ranks_) throw Error(CONSORT_E_INVAL, "the job has no rank " + std::to_string(rank));
    const std::string bytes = value_of(rank, key, deadline);
    const uint32_t room = *n;
    *n = static_cast<uint32_t>(bytes.size());
    if (*n > room) throw Error(CONSORT_E_TRUNCATED, std::string(key) + " has " + std::to_string(*n) + " bytes");
    if (*n) std::memcpy(out, bytes.data(), *n);
  }

  // All ranks call it: what they have put can be read afterwards.
  void fence(uint64_t deadline) {
    must(library_.commit(), "PMIx_Commit");
    pmix_info_t collect;
    std::memset(&collect, 0, sizeof collect);
    std::strcpy(collect.key, PMIX_COLLECT_DATA);
    collect.value.type = PMIX_BOOL;
    collect.value.data.flag = true;
    const auto answer = std::make_shared<Answer>();
    auto *const mine = new Shared(answer);
    const pmix_status_t s = library_.fence(&all_, 1, &collect, 1,
                                           [](pmix_status_t status, void *from) { taken(from)->come(status, nullptr); }, mine);
    if (s == PMIX_OPERATION_SUCCEEDED) return delete mine;
    if (s != PMIX_SUCCESS) delete mine, must(s, "PMIx_Fence_nb");
    if (!answer->wait(host_, deadline)) throw Error(CONSORT_E_TIMEOUT, "some ranks have not joined the job in time: join_seconds");
    if (answer->status == PMIX_ERR_LOST_CONNECTION || answer->status == PMIX_ERR_PROC_ABORTED)
      throw Error(CONSORT_E_PEER_LOST, std::string("a rank has ended while the job started: ") + library_.error_string(answer->status));
    must(answer->status, "PMIx_Fence_nb");
  }

  void abort(const char *why) noexcept { library_.abort(1, why, nullptr, 0); }

 private:
  uint32_t rank() const noexcept { return client_.self().rank; }
  std::string name_of(const char *key) const {
    if (prefix_.size() + std::strlen(key) > PMIX_MAX_KEYLEN) throw Error(CONSORT_E_INVAL, "a key has more than 511 bytes");
    return prefix_ + key;
  }
  void must(pmix_status_t s, const char *what) const {
    if (s != PMIX_SUCCESS) throw Error(CONSORT_E_IO, std::string(what) + ": " + library_.error_string(s));
  }
  std::string value_of(uint32_t rank, const char *key, uint64_t deadline) const {
    pmix_proc_t of = all_;
    of.rank = rank;
    return ask(of, name_of(key).c_str(), deadline)->bytes;
  }
  Shared ask(const pmix_proc_t &of, const char *key, uint64_t deadline) const {
    const auto answer = std::make_shared<Answer>();
    auto *const mine = new Shared(answer);
    const pmix_status_t s = library_.get(&of, key, nullptr, 0,
                                         [](pmix_status_t status, pmix_value_t *v, void *from) { taken(from)->come(status, v); }, mine);
    if (s != PMIX_SUCCESS) delete mine, must(s, "PMIx_Get_nb");
    if (!answer->wait(host_, deadline)) throw Error(CONSORT_E_TIMEOUT, std::string("no answer for ") + key + " in time");
    if (answer->status == PMIX_ERR_NOT_FOUND) throw Error(CONSORT_E_TIMEOUT, std::string("no rank has put ") + key);
    must(answer->status, "PMIx_Get_nb");
    return answer;
  }

  const Client &client_;
  const Library &library_;
  const Host host_;
  pmix_proc_t all_;
  uint32_t ranks_ = 0;
  std::string prefix_, job_, secret_;
};

transports::Boards<Board> boards{"PMIx"};

}  // namespace

consort_boot boot(Host host, uint64_t deadline) {
  if (!secure_getenv("PMIX_NAMESPACE")) return solo();
  auto board = std::make_unique<Board>(host, deadline);
  consort_boot b = board->boot();
  b.put = [](const consort_host *h, const char *key, const void *bytes, uint32_t n) {
    return boards.with(h, [&](Board &all) { all.put(key, bytes, n); });
  };
  b.get = [](const consort_host *h, uint32_t rank, const char *key, void *out, uint32_t *n, uint64_t until) {
    return boards.with(h, [&](Board &all) { all.get(rank, key, out, n, until); });
  };
  b.fence = [](const consort_host *h, uint64_t until) { return boards.with(h, [&](Board &all) { all.fence(until); }); };
  b.abort = [](const consort_host *h, consort_status, const char *why) {
    boards.with(h, [&](Board &all) { all.abort(why ? why : "a rank has asked for the end of the job"); });
  };
  boards.add(host, std::move(board));
  return b;
}

void forget(Host host) noexcept { boards.remove(host); }

}  // namespace pmix
