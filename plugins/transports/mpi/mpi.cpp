#include "mpi.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <chrono>

namespace mpi {
namespace {

constexpr std::chrono::microseconds kJoinNap{100};
constexpr uint64_t kJoin = 30'000'000'000;  // ns, as join_seconds, which this transport is not told

}  // namespace

Mpi::Settings::Settings(Host host)
    : depth(host.value(Mpi::depth)),
      unexpected(host.value(Mpi::unexpected)),
      library(host.value(Mpi::library)),
      threads(host.value(Mpi::threads)) {
  const std::string text = host.value(Mpi::communicator);
  is_world = text == "world";
  const char *const end = text.data() + text.size();
  if (!is_world && std::from_chars(text.data(), end, number).ptr != end)
    throw Error(CONSORT_E_INVAL, "mpi.communicator = \"" + text + "\" is neither world nor a number of MPI_Comm_c2f");
}

Mpi::Use::Use(Process &process, Channel &channel) : process_(process), channel_(channel) {
  if (!process.take(channel)) throw Error(CONSORT_E_BUSY, "a job over this communicator is open in this process already");
}

Mpi::Use::~Use() { process_.give_back(channel_); }

Channel &Mpi::join(Process &process, const Settings &settings, Host host, uint64_t deadline) {
  Channel *channel = nullptr;
  bool is_ready = false;
  try {
    process.run([&] { channel = &process.library().open(settings.communicator()); });
    for (;; std::this_thread::sleep_for(kJoinNap)) {
      process.run([&] { is_ready = channel->is_ready(); });
      if (is_ready || host.now() >= deadline) break;
    }
  } catch (const std::runtime_error &e) {
    throw Error(CONSORT_E_IO, std::string("MPI fails: ") + e.what());
  }
  if (!is_ready) throw Error(CONSORT_E_TIMEOUT, "some ranks of MPI have not joined the communicator in time");
  return *channel;
}

Channel &Mpi::open(Process &process, const Settings &settings, Host host, const consort_boot &boot) {
  check_own_rank(boot);
  Channel *const channel = &join(process, settings, host, host.now() + kJoin);
  if (channel->rank() != boot.rank || channel->ranks() != boot.nranks)
    throw Error(CONSORT_E_UNSUPPORTED, "this process is rank " + std::to_string(boot.rank) + " of " +
                                           std::to_string(boot.nranks) + " in the job, and rank " +
                                           std::to_string(channel->rank()) + " of " + std::to_string(channel->ranks()) +
                                           " in MPI; start the ranks by mpirun or srun");
  return *channel;
}

Mpi::Mpi(const Settings &settings, Host host, const consort_boot &boot, uint64_t token, consort_tcaps &caps)
    : Endpoint(settings.limits(), host, boot, token, "CMPI"),
      process_(Process::start(settings.library, settings.threads)),
      channel_(open(process_, settings, host, boot)),
      use_(process_, channel_),
      peers_(boot.nranks) {
  polls_drive_ = !process_.has_own_thread();
  caps.max_address = kAddress;
  caps.bytes_per_s = 5'000'000'000;
  caps.latency_ns = 1000;
  try {
    process_.run([&] { start(channel_, caps); });
    if (!polls_drive_)
      process_.drive([this] {
        const std::lock_guard guard(mutex_);
        return turn();
      });
  } catch (...) {
    close();
    throw;
  }
}

Mpi::~Mpi() {
  const auto wait = [this] {
    if (polls_drive_) {
      const std::lock_guard guard(mutex_);
      turn();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  };
  if (!process_.library().is_over()) stop(wait);
  close();
  forget_boot(host());
}

void Mpi::close() noexcept {
  try {
    Unfinished left;
    if (!polls_drive_) process_.drive({});
    process_.run([&] { left = process_.library().close(channel_); });
    if (left.is_none()) return;
    host().log(1, "transfers over MPI have not ended when the transport closes (receives: " + std::to_string(left.receives) +
                      ", sends: " + std::to_string(left.sends) + "); their memory is not freed");
  } catch (const std::exception &) {  // no memory: the channel may stay in use
  }
  keep_memory();
}

uint32_t Mpi::address(std::span<std::byte> room) noexcept {
  if (room.size() < kAddress) return kAddress;
  write_address(room.data());
  Writer w(room.data() + Address::kBytes);
  w.number(boot_.host_id, 8), w.number(static_cast<uint64_t>(getpid()), 8);
  return kAddress;
}

void Mpi::connect(uint32_t rank, std::span<const std::byte> address) {
  const Address theirs = check_address(rank, address, kAddress);
  Reader r(address.data() + Address::kBytes);
  const auto host_id = r.number<uint64_t>();
  const auto pid = static_cast<pid_t>(r.number<uint64_t>());
  const std::lock_guard guard(mutex_);
  want(rank, theirs);
  if (rank != rank_ && host_id == boot_.host_id) peers_[rank] = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

// MPI says nothing of a process that was killed, and its launcher names a process at best.
void Mpi::look() noexcept {
  for (uint32_t rank = 0; rank < peers_.size(); ++rank) {
    if (!peers_[rank] || !is_up(rank)) continue;
    pollfd f{peers_[rank].get(), POLLIN, 0};
    if (::poll(&f, 1, 0) != 1) continue;
    peers_[rank].reset();
    died(rank);
  }
}

}  // namespace mpi

CONSORT_PLUGIN(mpi, TRANSPORT, 0, "mpi", "1.0.0", mpi::Mpi);
