// shm: the rank itself and its registered memory. start.cpp connects ranks; messages.cpp has the messages.
#include "shm.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "names.hpp"

namespace shm {

Shm::Settings::Settings(Host host)
    : depth(host.value(Shm::depth)),
      unexpected(host.value(Shm::unexpected)),
      notifications(host.value(Shm::notifications)),
      may_pull(host.value(Shm::copy) == "auto") {}

Shm::Shm(const Settings &settings, Host host, const consort_boot &boot, uint64_t token, consort_tcaps &caps)
    : Transport(host),
      settings_(settings),
      boot_(boot),
      rank_(boot.rank),
      token_(token),
      links_(boot.nranks),
      told_(2 * size_t{settings.depth} + settings.notifications + (settings.depth + size_t{2}) * boot.nranks + 1),
      ops_(settings.depth),
      spare_receives_(settings.depth),
      spare_fetches_(2 * size_t{settings.depth}) {
  check_own_rank(boot);
  if (boot.sim_domain)
    throw Error(CONSORT_E_UNSUPPORTED, "shm runs in real time and joins no simulated clock; use the transport inproc");
  up_.reserve(boot.nranks);
  for (uint32_t i = settings.depth; i-- > 0;) free_ops_.push_back(i);
  std::memcpy(mine_.magic, kMagic, sizeof kMagic);
  mine_.version = kVersion, mine_.rank = rank_, mine_.nranks = boot.nranks;
  mine_.job = hash(boot.job ? boot.job : ""), mine_.host = boot.host_id;
  by_chance(mine_.id), by_chance(probe_), by_chance(number_);

  wake_ = Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  listener_ = Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const SocketName mine(mine_.id);
  if (!wake_ || !epoll_ || !listener_ || bind(listener_.get(), mine.get(), mine.size()) < 0 ||
      listen(listener_.get(), SOMAXCONN) < 0)
    throw Error(CONSORT_E_IO, std::string("no socket for other ranks: ") + std::strerror(errno));
  watch(wake_.get(), kWake);
  watch(listener_.get(), kListener);

  caps.flags = CONSORT_TC_TAGGED | CONSORT_TC_RMA | CONSORT_TC_NOTIFY | CONSORT_TC_FD | CONSORT_TC_PEER_FAILURE |
               CONSORT_TC_2D;
  caps.max_inline = kInline;
  caps.max_address = sizeof(Address);
  caps.max_message = INT64_MAX;
  caps.bytes_per_s = 8'000'000'000;
  caps.latency_ns = 500;
  caps.max_rkey = sizeof(Key);
  caps.notify_bits = 64;
}

Shm::~Shm() {
  const std::lock_guard guard(mutex_);
  for (Link &l : links_) unlink(l);
  pmix::forget(host());
}

uint32_t Shm::address(std::span<std::byte> room) noexcept {
  if (room.size() >= sizeof mine_) std::memcpy(room.data(), &mine_, sizeof mine_);
  return sizeof mine_;
}

consort_mr Shm::reg(const consort_space_desc &space, consort_addr a, uint64_t bytes) {
  check_memory(space, a, bytes);
  const std::lock_guard guard(mutex_);
  const Key key = {number_, last_region_ + 1};
  regions_[key.region] = {a, bytes};
  last_region_ = key.region;
  consort_mr mr = {key.region, sizeof key, 0, {}};
  std::memcpy(mr.rkey, &key, sizeof key);
  return mr;
}

// PUTs are written by this rank under the lock, so none is in progress. A GET that is in progress finds the epoch changed
// and asks again.
void Shm::dereg(const consort_mr &mr) noexcept {
  const std::lock_guard guard(mutex_);
  if (!regions_.erase(mr.lkey)) return;
  for (const uint32_t rank : up_) links_[rank].out.head()->epoch.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // before the memory changes; pairs with the fence after the copy
  for (const uint32_t rank : up_)
    for (Fetch &f : links_[rank].fetches)
      if (f.r.kind == kPut && f.reach.key.region == mr.lkey) f.is_stale = true;
}

// After the flags are set a peer that adds a record sees them, or this rank sees the record: ring.hpp has the argument.
consort_status Shm::arm() noexcept {
  const std::lock_guard guard(mutex_);
  look_at_sockets();
  if (!told_.is_empty()) return CONSORT_E_BUSY;
  for (const uint32_t rank : up_) links_[rank].in.head()->armed.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const uint32_t rank : up_)
    if (is_waiting(links_[rank])) {
      for (const uint32_t r : up_) links_[r].in.head()->armed.store(0, std::memory_order_relaxed);
      return CONSORT_E_BUSY;
    }
  armed_ = true;
  return CONSORT_OK;
}

}  // namespace shm

CONSORT_PLUGIN(shm, TRANSPORT, 0, "shm", "1.0.0", shm::Shm);
