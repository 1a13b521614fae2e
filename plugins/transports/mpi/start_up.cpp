// consort.boot/1 through MPI: the ranks of the communicator, a secret by chance that rank 0 sends to all, and put(), get(),
// fence() by MPI_Iallgather.
#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

#include "../boards.hpp"
#include "mpi.hpp"

namespace mpi {
namespace {

constexpr std::chrono::microseconds kNap{100};

using Values = std::map<std::string, std::string>;

struct Common {
  uint8_t secret[32];
  uint64_t job;
  ~Common() { explicit_bzero(secret, sizeof secret); }
};

class Board {
 public:
  Board(Process &process, Channel &channel, uint64_t deadline, Host host) : process_(process), channel_(channel), host_(host) {
    Common mine;
    if (getrandom(&mine, sizeof mine, 0) != sizeof mine) throw Error(CONSORT_E_IO, "the system gives no random numbers");
    std::vector<Common> all(channel.ranks());
    gather(&mine, sizeof mine, all.data(), deadline);
    common_ = all[0];
    char name[40];
    std::snprintf(name, sizeof name, "mpi-%016llx", static_cast<unsigned long long>(common_.job));
    job_ = name;
    values_.resize(channel.ranks());
  }

  consort_boot boot() const noexcept {
    consort_boot b{};
    b.size = sizeof b;
    b.rank = channel_.rank(), b.nranks = channel_.ranks();
    b.job = job_.c_str();
    b.secret = common_.secret, b.nsecret = sizeof common_.secret;
    return b;
  }
  void put(const char *key, const void *value, uint32_t n) { mine_[key] = std::string(static_cast<const char *>(value), n); }
  consort_status get(uint32_t rank, const char *key, void *out, uint32_t *n) const noexcept {
    if (rank >= values_.size()) return CONSORT_E_INVAL;
    const auto found = values_[rank].find(key);
    if (found == values_[rank].end()) return CONSORT_E_TIMEOUT;  // all that was put before the fence is here
    const auto room = std::exchange(*n, static_cast<uint32_t>(found->second.size()));
    if (*n > room) return CONSORT_E_TRUNCATED;
    std::memcpy(out, found->second.data(), *n);
    return CONSORT_OK;
  }
  // All ranks call it: what they have put is here afterwards.
  void fence(uint64_t deadline) {
    std::string text;
    const auto add = [&](const std::string &s) {
      const uint64_t n = s.size();
      text.append(reinterpret_cast<const char *>(&n), sizeof n).append(s);
    };
    for (const auto &[key, value] : mine_) add(key), add(value);
    const uint64_t size = text.size();
    std::vector<uint64_t> sizes(channel_.ranks());
    gather(&size, sizeof size, sizes.data(), deadline);
    const uint64_t most = *std::max_element(sizes.begin(), sizes.end());
    if (most > (1 << 20)) throw Error(CONSORT_E_INVAL, "a rank has put more than 1 MiB");
    text.resize(most);
    std::string all(most * channel_.ranks(), '\0');
    if (most) gather(text.data(), most, all.data(), deadline);
    for (uint32_t r = 0; r < channel_.ranks(); ++r) values_[r] = parse(std::string_view(all).substr(r * most, sizes[r]));
  }
  void abort() noexcept { process_.library().abort(); }

 private:
  void gather(const void *mine, size_t n, void *out, uint64_t deadline) {
    // The ranks that were late may have ended it; the next exchange would not be theirs.
    if (channel_.is_gathering()) throw Error(CONSORT_E_IO, "an earlier exchange over this communicator of MPI has not ended");
    bool is_done = false, failed = false;
    process_.run([&] { failed = !channel_.gather(mine, n); });
    while (!failed && !is_done) {
      process_.run([&] { is_done = channel_.gathered(out, &failed); });
      if (is_done) break;
      if (host_.now() >= deadline)
        throw Error(CONSORT_E_TIMEOUT, "some ranks of MPI have not joined the job in time: join_seconds");
      std::this_thread::sleep_for(kNap);
    }
    if (failed) throw Error(CONSORT_E_IO, "MPI_Iallgather fails");
  }
  static Values parse(std::string_view text) {
    Values values;
    const auto next = [&] {
      uint64_t n;
      if (text.size() < sizeof n) throw Error(CONSORT_E_IO, "a rank has put what makes no sense");
      std::memcpy(&n, text.data(), sizeof n);
      text.remove_prefix(sizeof n);
      if (n > text.size()) throw Error(CONSORT_E_IO, "a rank has put what makes no sense");
      std::string s(text.substr(0, n));
      text.remove_prefix(n);
      return s;
    };
    while (!text.empty()) {
      std::string key = next();
      values[std::move(key)] = next();
    }
    return values;
  }

  Process &process_;
  Channel &channel_;
  const Host host_;
  Common common_{};
  std::string job_;
  Values mine_;
  std::vector<Values> values_;
};

transports::Boards<Board> boards{"MPI"};

}  // namespace

consort_boot Mpi::boot(Host host, uint64_t deadline) {
  const Settings settings(host);
  Process &process = Process::start(settings.library, settings.threads);
  Channel &channel = join(process, settings, host, deadline);
  const Use use(process, channel);
  auto board = std::make_unique<Board>(process, channel, deadline, host);
  consort_boot b = board->boot();
  b.put = [](const consort_host *h, const char *key, const void *value, uint32_t n) {
    return boards.with(h, [&](Board &all) { all.put(key, value, n); });
  };
  b.get = [](const consort_host *h, uint32_t rank, const char *key, void *out, uint32_t *n, uint64_t) {
    return boards.with(h, [&](Board &all) {
      if (const consort_status s = all.get(rank, key, out, n); s < 0)
        throw Error(s, name(rank) + " has not put \"" + key + "\", or more than there is room for");
    });
  };
  b.fence = [](const consort_host *h, uint64_t deadline) { return boards.with(h, [&](Board &all) { all.fence(deadline); }); };
  b.abort = [](const consort_host *h, consort_status, const char *why) {
    Host(h).log(0, std::string("the job is ended: ") + (why ? why : ""));
    boards.with(h, [](Board &all) { all.abort(); });
  };
  boards.add(host, std::move(board));
  return b;
}

void forget_boot(Host host) noexcept { boards.remove(host); }

}  // namespace mpi
