// inproc: who is there, who is reached, what memory others may touch. What messages do stands in messages.cpp.
#include "inproc.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

namespace inproc {
namespace {

uint64_t hash(std::string_view text) noexcept {
  uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

std::string name(uint32_t rank) { return "rank " + std::to_string(rank); }

constexpr char kMagic[4] = {'I', 'N', 'P', 'R'};

}  // namespace

Inproc::Inproc(const Settings &settings, Host host, const consort_boot &boot, uint64_t token, consort_tcaps &caps)
    : Transport(host),
      house_(boot.job ? boot.job : "", boot.nranks),
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
  if (rank_ >= boot.nranks)
    throw Error(CONSORT_E_INVAL,
                "there are " + std::to_string(boot.nranks) + " ranks, from 0 on; " + name(rank_) + " is none of them");
  caps.flags =
      CONSORT_TC_TAGGED | CONSORT_TC_RMA | CONSORT_TC_NOTIFY | CONSORT_TC_FD | CONSORT_TC_PEER_FAILURE | CONSORT_TC_2D;
  caps.max_inline = kShort;
  caps.max_address = sizeof(Address);
  caps.max_message = INT64_MAX;
  caps.bytes_per_s = 8'000'000'000;
  caps.latency_ns = 200;
  caps.max_rkey = sizeof(Key);
  caps.notify_bits = 64;
  const std::lock_guard guard(house_->mutex);
  if (house_->ranks[rank_])
    throw Error(CONSORT_E_BUSY,
                name(rank_) + " of job \"" + house_->job + "\" is open in this process already; each rank opens once");
  house_->ranks[rank_] = this;
}

// Leaves each peer, as disconnect() does, but for ends of its own that nobody would hear of.
Inproc::~Inproc() {
  Lock lock(house_->mutex);
  closing_ = true;
  for (Inproc *peer : house_->ranks) {
    if (!peer || peer == this) continue;
    Link &its = peer->links_[rank_], &mine = links_[peer->rank_];
    mine.state = State::kLost, mine.peer = nullptr;
    if (its.peer != this) continue;  // does not want this one, or not any more
    its.state = State::kLost, its.peer = nullptr;
    its.leaving = true;
    ++its.events;
    end_sends(*peer);
    peer->end_sends(*this);
    peer->end_receives(rank_);
  }
  wait_until(lock,
             [&] { return std::all_of(links_.begin(), links_.end(), [](const Link &l) { return l.moving == 0; }); });
  for (Inproc *peer : house_->ranks) {
    if (!peer || peer == this || !peer->links_[rank_].leaving) continue;
    peer->links_[rank_].leaving = false;
    peer->raise(CONSORT_EV_PEER_LOST, rank_);
  }
  house_->ranks[rank_] = nullptr;
  if (fd_ >= 0) ::close(fd_);
}

uint32_t Inproc::address(std::span<std::byte> room) noexcept {
  Address mine{{}, 1, static_cast<uint32_t>(getpid()), rank_, hash(house_->job), house_.number()};
  std::memcpy(mine.magic, kMagic, sizeof kMagic);
  if (room.size() >= sizeof mine) std::memcpy(room.data(), &mine, sizeof mine);
  return sizeof mine;
}

void Inproc::check_address(uint32_t rank, const Address &a) const {
  if (rank >= links_.size())
    throw Error(CONSORT_E_INVAL,
                "there are " + std::to_string(links_.size()) + " ranks; " + name(rank) + " is none of them");
  if (std::memcmp(a.magic, kMagic, sizeof kMagic) != 0 || a.version != 1)
    throw Error(CONSORT_E_INVAL,
                "that is no address of this transport; give what address() of " + name(rank) + " has answered");
  if (a.rank != rank) throw Error(CONSORT_E_INVAL, "that is the address of " + name(a.rank) + ", not of " + name(rank));
  if (a.process != static_cast<uint32_t>(getpid()))
    throw Error(CONSORT_E_UNSUPPORTED,
                name(rank) + " is process " + std::to_string(a.process) +
                    "; inproc reaches the ranks of its own process alone, use another transport");
  if (a.job != hash(house_->job))
    throw Error(CONSORT_E_INVAL, "that is an address of another job than \"" + house_->job + "\"");
}

// The other's secret lies in this process, so both are compared where they lie. In the same time wherever they differ.
bool Inproc::knows_secret_of(const Inproc &peer) const noexcept {
  if (boot_.nsecret != peer.boot_.nsecret) return false;
  unsigned differ = 0;
  for (uint32_t i = 0; i < boot_.nsecret; ++i) differ |= boot_.secret[i] ^ peer.boot_.secret[i];
  return differ == 0;
}

void Inproc::connect(uint32_t rank, std::span<const std::byte> address) {
  Address theirs;
  if (address.size() != sizeof theirs)
    throw Error(CONSORT_E_INVAL, "an address of this transport has " + std::to_string(sizeof theirs) +
                                     " bytes, this one has " + std::to_string(address.size()));
  std::memcpy(&theirs, address.data(), sizeof theirs);
  check_address(rank, theirs);
  const std::lock_guard guard(house_->mutex);
  Inproc *peer = house_->ranks[rank];
  if (!peer || peer->closing_ || peer->house_.number() != theirs.number)
    throw Error(CONSORT_E_PEER_LOST, name(rank) + " has closed since it gave this address");
  if (boot_.sim_domain != peer->boot_.sim_domain)
    throw Error(CONSORT_E_INVAL, name(rank) + " has another clock: its simulation domain is " +
                                     std::to_string(peer->boot_.sim_domain) + ", this one's " +
                                     std::to_string(boot_.sim_domain));
  if (!knows_secret_of(*peer)) throw Error(CONSORT_E_INVAL, name(rank) + " does not have this job's secret");
  Link &mine = links_[rank], &its = peer->links_[rank_];
  if (mine.peer) throw Error(CONSORT_E_BUSY, name(rank) + " is connected already; disconnect it first");
  if (mine.events)
    throw Error(CONSORT_E_BUSY, "poll() has yet to tell that " + name(rank) + " was lost; poll, then connect it again");
  mine.peer = peer, mine.state = State::kWanted;
  if (its.peer != this) return;  // up when it connects, too
  mine.state = its.state = State::kUp;
  ++mine.events;
  raise(CONSORT_EV_PEER_UP, rank);
  if (peer == this) return;
  ++its.events;
  peer->raise(CONSORT_EV_PEER_UP, rank_);
}

// The peer loses this one; this one knows, and gets no event. Whatever is being copied between the two ends first.
void Inproc::disconnect(uint32_t rank) noexcept {
  Lock lock(house_->mutex);
  if (rank >= links_.size()) return;
  Link &mine = links_[rank];
  Inproc *const peer = mine.peer;
  const bool was_up = mine.state == State::kUp;
  mine.state = State::kNone, mine.peer = nullptr;
  if (!was_up) return;
  const uint64_t number = peer->house_.number();
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
  Inproc *const now = house_->ranks[rank];  // it may have closed meanwhile
  if (now && now != this && now->house_.number() == number) now->raise(CONSORT_EV_PEER_LOST, rank_);
}

consort_mr Inproc::reg(const consort_space_desc &space, consort_addr a, uint64_t bytes) {
  if (!(space.flags & CONSORT_SP_CPU))
    throw Error(CONSORT_E_UNSUPPORTED, "only memory that the CPU can load and store");
  uint64_t end;
  if (__builtin_add_overflow(a.base, a.off, &end) || __builtin_add_overflow(end, bytes, &end))
    throw Error(CONSORT_E_INVAL, std::to_string(bytes) + " bytes from there on reach beyond the end of memory");
  const std::lock_guard guard(house_->mutex);
  const Key key = {house_.number(), last_region_ + 1};
  regions_[key.region] = {a, bytes, 0, false};
  last_region_ = key.region;
  consort_mr mr = {key.region, sizeof key, 0, {}};
  std::memcpy(mr.rkey, &key, sizeof key);
  return mr;
}

void Inproc::dereg(const consort_mr &mr) noexcept {
  Lock lock(house_->mutex);
  const auto found = regions_.find(mr.lkey);
  if (found == regions_.end() || found->second.gone) return;
  found->second.gone = true;  // for who comes from now on
  wait_until(lock, [&] { return found->second.users == 0; });
  regions_.erase(found);
}

int Inproc::event_fd() noexcept {
  const std::lock_guard guard(house_->mutex);
  if (fd_ < 0) fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  return fd_;
}

// Looks and arms in one step under the lock under which others tell: who tells later finds it armed.
consort_status Inproc::arm() noexcept {
  const std::lock_guard guard(house_->mutex);
  if (!told_.is_empty()) return CONSORT_E_BUSY;
  uint64_t counted;
  if (fd_ >= 0 && ::read(fd_, &counted, sizeof counted) < 0) counted = 0;  // it was not readable: so much the better
  armed_ = true;
  return CONSORT_OK;
}

uint64_t Inproc::next_event() noexcept {
  {
    const std::lock_guard guard(house_->mutex);
    if (told_.is_empty()) return CONSORT_NEVER;
  }
  return host().now();
}

template <class Done>
void Inproc::wait_until(Lock &lock, Done done) noexcept {
  ++house_->waiting;
  house_->still.wait(lock, done);
  --house_->waiting;
}

}  // namespace inproc

CONSORT_PLUGIN(inproc, TRANSPORT, CONSORT_PF_VIRTUAL, "inproc", "1.0.0", inproc::Inproc);
