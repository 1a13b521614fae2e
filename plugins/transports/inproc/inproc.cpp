// inproc: ranks, connections and registered memory. messages.cpp has the messages.
#include "inproc.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace inproc {
namespace {

constexpr char kMagic[4] = {'I', 'N', 'P', 'R'};

}  // namespace

Inproc::Inproc(const Settings &settings, Host host, const consort_boot &boot, uint64_t token, consort_tcaps &caps)
    : Transport(host),
      job_(boot.job ? boot.job : "", boot.nranks),
      settings_(settings),
      boot_(boot),
      rank_(boot.rank),
      token_(token),
      links_(boot.nranks),
      told_(2 * size_t{settings.depth} + settings.notifications + 2 * size_t{boot.nranks}),
      receives_(),
      spare_receives_(settings.depth),
      spare_sends_(settings.depth),
      spare_kept_(settings.unexpected) {
  check_own_rank(boot);
  caps.flags =
      CONSORT_TC_TAGGED | CONSORT_TC_RMA | CONSORT_TC_NOTIFY | CONSORT_TC_FD | CONSORT_TC_PEER_FAILURE | CONSORT_TC_2D;
  caps.max_inline = kShort;
  caps.max_address = sizeof(Address);
  caps.max_message = INT64_MAX;
  caps.bytes_per_s = 8'000'000'000;
  caps.latency_ns = 200;
  caps.max_rkey = sizeof(Key);
  caps.notify_bits = 64;
  const std::lock_guard guard(job_->mutex);
  if (job_->ranks[rank_])
    throw Error(CONSORT_E_BUSY,
                name(rank_) + " of job \"" + job_->name + "\" is open in this process already; each rank opens once");
  job_->ranks[rank_] = this;
}

// Disconnects each peer as disconnect() does, without completions of its own, which no poll() would report.
Inproc::~Inproc() {
  Lock lock(job_->mutex);
  closing_ = true;
  for (Inproc *peer : job_->ranks) {
    if (!peer || peer == this) continue;
    Link &its = peer->links_[rank_], &mine = links_[peer->rank_];
    mine.state = State::kLost, mine.peer = nullptr;
    if (its.peer != this) continue;  // not connected to this rank, or disconnected meanwhile
    its.state = State::kLost, its.peer = nullptr;
    its.leaving = true;
    ++its.events;
    end_sends(*peer);
    peer->end_sends(*this);
    peer->end_receives(rank_);
  }
  wait_until(lock,
             [&] { return std::all_of(links_.begin(), links_.end(), [](const Link &l) { return l.moving == 0; }); });
  for (Inproc *peer : job_->ranks) {
    if (!peer || peer == this || !peer->links_[rank_].leaving) continue;
    peer->links_[rank_].leaving = false;
    peer->raise(CONSORT_EV_PEER_LOST, rank_);
  }
  job_->ranks[rank_] = nullptr;
  if (fd_ >= 0) ::close(fd_);
}

uint32_t Inproc::address(std::span<std::byte> room) noexcept {
  Address mine{{}, 1, static_cast<uint32_t>(getpid()), rank_, hash(job_->name), job_.number()};
  std::memcpy(mine.magic, kMagic, sizeof kMagic);
  if (room.size() >= sizeof mine) std::memcpy(room.data(), &mine, sizeof mine);
  return sizeof mine;
}

void Inproc::check_address(uint32_t rank, const Address &a) const {
  check_rank(rank, links_.size());
  if (std::memcmp(a.magic, kMagic, sizeof kMagic) != 0 || a.version != 1) refuse_address(rank);
  check_owner(a.rank, rank);
  if (a.process != static_cast<uint32_t>(getpid()))
    throw Error(CONSORT_E_UNSUPPORTED,
                name(rank) + " is process " + std::to_string(a.process) +
                    "; inproc reaches only ranks of its own process, use another transport");
  if (a.job != hash(job_->name))
    throw Error(CONSORT_E_INVAL, "the address belongs to another job than \"" + job_->name + "\"");
}

// Compares both secrets in place, in constant time.
bool Inproc::knows_secret_of(const Inproc &peer) const noexcept {
  if (boot_.nsecret != peer.boot_.nsecret) return false;
  unsigned differ = 0;
  for (uint32_t i = 0; i < boot_.nsecret; ++i) differ |= boot_.secret[i] ^ peer.boot_.secret[i];
  return differ == 0;
}

void Inproc::connect(uint32_t rank, std::span<const std::byte> address) {
  const auto theirs = read_address<Address>(address);
  check_address(rank, theirs);
  const std::lock_guard guard(job_->mutex);
  Inproc *peer = job_->ranks[rank];
  if (!peer || peer->closing_ || peer->job_.number() != theirs.number)
    throw Error(CONSORT_E_PEER_LOST, name(rank) + " has closed since it gave this address");
  if (boot_.sim_domain != peer->boot_.sim_domain)
    throw Error(CONSORT_E_INVAL, name(rank) + " has another clock: its simulation domain is " +
                                     std::to_string(peer->boot_.sim_domain) + ", this one's " +
                                     std::to_string(boot_.sim_domain));
  if (!knows_secret_of(*peer)) throw Error(CONSORT_E_INVAL, name(rank) + " does not have this job's secret");
  Link &mine = links_[rank], &its = peer->links_[rank_];
  if (mine.peer) throw Error(CONSORT_E_BUSY, name(rank) + " is connected already; disconnect it first");
  if (mine.events)
    throw Error(CONSORT_E_BUSY, "the loss of " + name(rank) + " is not reported yet; poll, then connect it again");
  mine.peer = peer, mine.state = State::kWanted;
  if (its.peer != this) return;  // up when it also connects
  mine.state = its.state = State::kUp;
  ++mine.events;
  raise(CONSORT_EV_PEER_UP, rank);
  if (peer == this) return;
  ++its.events;
  peer->raise(CONSORT_EV_PEER_UP, rank_);
}

// The peer is reported as lost there; this rank gets no event. Copies in progress between the two end first.
void Inproc::disconnect(uint32_t rank) noexcept {
  Lock lock(job_->mutex);
  if (rank >= links_.size()) return;
  Link &mine = links_[rank];
  Inproc *const peer = mine.peer;
  const bool was_up = mine.state == State::kUp;
  mine.state = State::kNone, mine.peer = nullptr;
  if (!was_up) return;
  const uint64_t number = peer->job_.number();
  if (peer != this) {
    Link &its = peer->links_[rank_];
    its.state = State::kLost, its.peer = nullptr;
    ++its.events;
    peer->end_sends(*this);
    peer->end_receives(rank_);
  }
  end_sends(*peer);
  end_receives(rank);
  wait_until(lock, [&] { return links_[rank].moving == 0; });
  Inproc *const now = job_->ranks[rank];  // the peer may have closed meanwhile
  if (now && now != this && now->job_.number() == number) now->raise(CONSORT_EV_PEER_LOST, rank_);
}

consort_mr Inproc::reg(const consort_space_desc &space, consort_addr a, uint64_t bytes) {
  check_memory(space, a, bytes);
  const std::lock_guard guard(job_->mutex);
  const Key key = {job_.number(), last_region_ + 1};
  regions_[key.region] = {a, bytes, 0, false};
  last_region_ = key.region;
  consort_mr mr = {key.region, sizeof key, 0, {}};
  std::memcpy(mr.rkey, &key, sizeof key);
  return mr;
}

void Inproc::dereg(const consort_mr &mr) noexcept {
  Lock lock(job_->mutex);
  const auto found = regions_.find(mr.lkey);
  if (found == regions_.end() || found->second.gone) return;
  found->second.gone = true;  // for later operations
  wait_until(lock, [&] { return found->second.users == 0; });
  regions_.erase(found);
}

int Inproc::event_fd() noexcept {
  const std::lock_guard guard(job_->mutex);
  if (fd_ < 0) fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return fd_;
}

// Tests and arms in one step under the lock under which other threads report: a later report finds it armed.
consort_status Inproc::arm() noexcept {
  const std::lock_guard guard(job_->mutex);
  if (!told_.is_empty()) return CONSORT_E_BUSY;
  uint64_t counted;
  if (fd_ >= 0 && ::read(fd_, &counted, sizeof counted) < 0) counted = 0;  // it was not readable
  armed_ = true;
  return CONSORT_OK;
}

uint64_t Inproc::next_event() noexcept {
  {
    const std::lock_guard guard(job_->mutex);
    if (told_.is_empty()) return CONSORT_NEVER;
  }
  return host().now();
}

template <class Done>
void Inproc::wait_until(Lock &lock, Done done) noexcept {
  ++job_->waiting;
  job_->still.wait(lock, done);
  --job_->waiting;
}

}  // namespace inproc

CONSORT_PLUGIN(inproc, TRANSPORT, CONSORT_PF_VIRTUAL, "inproc", "1.0.0", inproc::Inproc);
