#include "ofi.hpp"

#include <sys/eventfd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "own_address.hpp"

namespace ofi {
namespace {

// ns in which the last packets of a peer arrive whose line is broken, and then those in which its transfers are cancelled.
constexpr uint64_t kGrace = 200'000'000;

// Providers that know no address of the network; theirs is made by the provider.
std::string listens_on(const std::string &provider, const std::string &network) {
  return provider.starts_with("shm") ? "" : network;
}

}  // namespace

Ofi::Settings::Settings(Host host)
    : depth(host.value(Ofi::depth)),
      unexpected(host.value(Ofi::unexpected)),
      provider(host.value(Ofi::provider)),
      network(own_address(host.value(Ofi::network))),
      waits(host.value(Ofi::wait) == "fd") {}

Ofi::Ofi(const Settings &settings, Host host, const consort_boot &boot, uint64_t token, consort_tcaps &caps)
    : Endpoint({settings.depth, settings.unexpected}, host, boot, token, "COFI"),
      network_(settings.provider, listens_on(settings.provider, settings.network), settings.waits),
      lines_(settings.network, boot.nranks, id()),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      broken_since_(boot.nranks),
      stuck_since_(boot.nranks) {
  if (network_.name().size() > kName)
    throw Error(CONSORT_E_UNSUPPORTED, "an address of the provider " + settings.provider + " has more than 128 bytes");
  if (!wake_) throw Error(CONSORT_E_IO, "no eventfd");
  lines_.watch(wake_.get());
  if (network_.fd() >= 0) lines_.watch(network_.fd()), caps.flags |= CONSORT_TC_FD;
  caps.flags |= CONSORT_TC_PEER_FAILURE;
  caps.max_address = kAddress;
  caps.bytes_per_s = 2'000'000'000;
  caps.latency_ns = 10'000;
  start(network_, caps);
}

Ofi::~Ofi() {
  stop([this] {
    {
      const std::lock_guard guard(mutex_);
      turn();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  });
  pmix::forget(host());
}

uint32_t Ofi::address(std::span<std::byte> room) noexcept {
  if (room.size() < kAddress) return kAddress;
  std::memset(room.data(), 0, kAddress);
  write_address(room.data());
  Writer w(room.data() + Address::kBytes);
  w.raw(lines_.where());
  w.number(network_.name().size(), 2);
  w.raw({reinterpret_cast<const uint8_t *>(network_.name().data()), network_.name().size()});
  return kAddress;
}

void Ofi::connect(uint32_t rank, std::span<const std::byte> address) {
  const Address theirs = check_address(rank, address, kAddress);
  if (rank == rank_) throw Error(CONSORT_E_UNSUPPORTED, name(rank) + " is this rank; ofi connects other ranks");
  Reader r(address.data() + Address::kBytes);
  std::array<uint8_t, Lines::kName> where;
  r.raw(where);
  const auto n = r.number<uint16_t>();
  if (n != network_.name().size()) throw Error(CONSORT_E_INVAL, name(rank) + " uses another provider; set ofi.provider to the same on all ranks");
  Id id;
  std::memcpy(id.data(), theirs.id, sizeof theirs.id);
  const std::lock_guard guard(mutex_);
  check_free(rank);
  network_.connect(rank, address.subspan(Address::kBytes + Lines::kName + 2, n), theirs.nranks);
  broken_since_[rank] = 0;
  if (rank < rank_) lines_.connect(rank, id, where);
  else lines_.expect(rank, id);
  want(rank, theirs);
}

// What the peer has sent before it closed may still arrive, its good-bye with it. Some providers never end a long transfer
// that was in progress; nothing comes for it any more.
void Ofi::look() noexcept {
  lines_.look();
  const auto is_over = [&](bool is, uint64_t &since) {
    if (!is) return since = 0, false;
    const uint64_t now = host().now();
    if (!since) since = now;
    return now - since >= kGrace;
  };
  for (uint32_t rank = 0; rank < broken_since_.size(); ++rank) {
    if (is_over(lines_.is_broken(rank), broken_since_[rank])) lines_.close(rank), died(rank);
    if (is_over(is_stuck(rank), stuck_since_[rank])) network_.forget(rank), give_up(rank);
  }
}

void Ofi::left(uint32_t rank) noexcept {
  lines_.close(rank);
  broken_since_[rank] = 0;
}

void Ofi::reported() noexcept {
  if (!std::exchange(armed_, false)) return;
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

consort_status Ofi::arm() noexcept {
  const std::lock_guard guard(mutex_);
  uint64_t count;
  (void)!::read(wake_.get(), &count, sizeof count);
  look();
  for (uint32_t rank = 0; rank < broken_since_.size(); ++rank)
    if (lines_.is_broken(rank) || is_stuck(rank)) return CONSORT_E_BUSY;
  if (has_reports() || !is_idle() || !network_.may_sleep()) return CONSORT_E_BUSY;
  armed_ = true;
  return CONSORT_OK;
}

}  // namespace ofi

CONSORT_PLUGIN(ofi, TRANSPORT, 0, "ofi", "1.0.0", ofi::Ofi);
