// shm: how two ranks meet. The one with the higher number connects to the other's socket.
//
//   kHello      the two ranks, a nonce                         kChallenge  back: a nonce, the proof of the one that answers
//   kProof      the proof of the one that has connected, and   kReady      back: both are up
//               the memory of the rings, sealed in its size
// A proof is an HMAC-SHA256 with the job's secret over all packets before it and over its own. The kernel says which process
// is at the other end (SO_PEERCRED): one of another user is refused, and a peer cannot name another process as its own.
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "copies.hpp"
#include "names.hpp"
#include "shm.hpp"

namespace shm {
namespace {

constexpr uint64_t kHeads = 4096;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Sends one packet, with a descriptor if there is one. A socket that is full or closed: false.
bool send_packet(int socket, const Packet &p, int fd = -1) noexcept {
  iovec v = {const_cast<Packet *>(&p), sizeof p};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {};
  msghdr m{};
  m.msg_iov = &v, m.msg_iovlen = 1;
  if (fd >= 0) {
    m.msg_control = room, m.msg_controllen = sizeof room;
    cmsghdr *const c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET, c->cmsg_type = SCM_RIGHTS, c->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
  }
  return sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof p);
}

// Bytes received, 0 at the end, below 0: see errno. Each descriptor that came is closed, but for the first, which is `fd`.
ssize_t receive_packet(int socket, Packet &p, Fd &fd) noexcept {
  char room_for_more[sizeof p + 1];
  iovec v = {room_for_more, sizeof room_for_more};
  alignas(cmsghdr) char room[CMSG_SPACE(4 * sizeof(int))] = {};
  msghdr m{};
  m.msg_iov = &v, m.msg_iovlen = 1, m.msg_control = room, m.msg_controllen = sizeof room;
  const ssize_t n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return n;
  for (cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= c->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int got;
      std::memcpy(&got, CMSG_DATA(c) + at, sizeof got);
      Fd one(got);
      if (!fd) fd = std::move(one);
    }
  }
  std::memcpy(&p, room_for_more, sizeof p);
  return n;
}

// The process at the other end; -1: of another user, or unknown.
int process_of(int socket) noexcept {
  ucred peer{};
  socklen_t n = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.uid != geteuid()) return -1;
  return peer.pid;
}

}  // namespace

void Shm::watch(int fd, uint64_t what) {
  epoll_event e{};
  e.events = EPOLLIN, e.data.u64 = what;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e) < 0 &&
      (errno != EEXIST || epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &e) < 0))
    throw Error(CONSORT_E_IO, std::string("epoll_ctl fails: ") + std::strerror(errno));
}

void Shm::forget(Fd &fd) noexcept {  // a child of fork() may keep it open, and the set would go on reporting it
  if (fd) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd.get(), nullptr);
  fd.reset();
}

bool Shm::has_my_settings(const Packet &p) const noexcept {
  return p.depth == settings_.depth && p.unexpected == settings_.unexpected;
}

void Shm::complain(std::string text) noexcept {
  if (complaint_.empty()) complaint_ = std::move(text);
}

// -- permission to connect ---------------------------------------------------------------------------------------------

void Shm::check_address(uint32_t rank, const Address &a) const {
  check_rank(rank, links_.size());
  if (std::memcmp(a.magic, kMagic, sizeof kMagic) != 0) refuse_address(rank);
  if (a.version != kVersion)
    throw Error(CONSORT_E_INVAL, name(rank) + " speaks version " + std::to_string(a.version) +
                                     " of the protocol, this rank version " + std::to_string(kVersion) +
                                     "; use one version of shm on all ranks");
  check_owner(a.rank, rank);
  if (a.job != mine_.job || a.nranks != mine_.nranks)
    throw Error(CONSORT_E_INVAL, "the address belongs to another job than \"" + std::string(boot_.job ? boot_.job : "") + "\"");
  if (a.host != mine_.host)
    throw Error(CONSORT_E_UNSUPPORTED, name(rank) + " is on another machine; shm reaches only ranks of this one");
}

void Shm::connect(uint32_t rank, std::span<const std::byte> address) {
  const auto theirs = read_address<Address>(address);
  check_address(rank, theirs);
  if (rank == rank_) throw Error(CONSORT_E_UNSUPPORTED, name(rank) + " is this rank; shm connects other processes");
  const std::lock_guard guard(mutex_);
  Link &l = links_[rank];
  if (l.state == State::kWanted || l.state == State::kUp)
    throw Error(CONSORT_E_BUSY, name(rank) + " is connected already; disconnect it first");
  if (l.events)
    throw Error(CONSORT_E_BUSY, "the loss of " + name(rank) + " is not reported yet; poll, then connect it again");
  l = Link{};
  l.theirs = theirs;
  if (rank < rank_) knock(l, rank);
  l.state = State::kWanted;
  if (rank > rank_) answer_pending(rank);
}

void Shm::disconnect(uint32_t rank) noexcept {
  const std::lock_guard guard(mutex_);
  if (rank >= links_.size()) return;
  if (links_[rank].state == State::kUp)
    lose(rank, false);
  else
    unlink(links_[rank]);
  if (links_[rank].state != State::kLost || !links_[rank].events) links_[rank].state = State::kNone;
}

// -- packets ----------------------------------------------------------------------------------------------------------

Packet Shm::packet(uint16_t step, uint32_t to, const Link &l) const noexcept {
  Packet p{};
  std::memcpy(p.magic, kMagic, sizeof kMagic);
  p.version = kVersion, p.step = step;
  p.from = rank_, p.to = to, p.nranks = mine_.nranks;
  p.depth = settings_.depth, p.unexpected = settings_.unexpected;
  p.job = mine_.job, p.probe_at = reinterpret_cast<uint64_t>(&probe_), p.probe = probe_;
  std::memcpy(p.from_id, mine_.id, sizeof p.from_id);
  std::memcpy(p.to_id, l.theirs.id, sizeof p.to_id);
  return p;
}

void Shm::prove(uint8_t (&out)[32], const char *side, const Packet &hello, const Packet &challenge,
                const Packet &proof) const noexcept {
  Packet last = proof;
  std::memset(last.proof, 0, sizeof last.proof);
  hmac_sha256_ctx c;
  hmac_sha256_set_key(&c, boot_.nsecret, boot_.secret ? boot_.secret : reinterpret_cast<const uint8_t *>(""));
  hmac_sha256_update(&c, std::strlen(side) + 1, reinterpret_cast<const uint8_t *>(side));
  for (const Packet *p : {&hello, &challenge, &std::as_const(last)})
    hmac_sha256_update(&c, sizeof *p, reinterpret_cast<const uint8_t *>(p));
  hmac_sha256_digest(&c, sizeof out, out);
  explicit_bzero(&c, sizeof c);  // a key schedule of the secret
}

// This rank has the higher number: it connects. Where the peer's queue is full, look_at_sockets() tries again.
void Shm::knock(Link &l, uint32_t rank) {
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const SocketName to(l.theirs.id);
  if (!fd || ::connect(fd.get(), to.get(), to.size()) < 0) {
    if (fd && errno == EAGAIN) return;
    throw Error(errno == ECONNREFUSED ? CONSORT_E_PEER_LOST : CONSORT_E_IO,
                errno == ECONNREFUSED ? name(rank) + " has closed since it gave this address"
                                      : name(rank) + " cannot be reached: " + std::strerror(errno));
  }
  l.pid = process_of(fd.get());
  if (l.pid < 0) throw Error(CONSORT_E_INVAL, name(rank) + " runs as another user");
  l.hello = packet(kHello, rank, l);
  by_chance(l.hello.nonce);
  if (!send_packet(fd.get(), l.hello)) throw Error(CONSORT_E_PEER_LOST, name(rank) + " closes while it is connected");
  watch(fd.get(), kSocket | rank);
  l.socket = std::move(fd), l.step = kChallenge;
}

void Shm::accept_all() {
  for (;;) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    const int pid = process_of(fd.get());
    if (pid < 0) {
      complain("a process of another user has connected, and is refused");
      continue;
    }
    if (pending_.size() > links_.size() + 16) {  // silent ones make room
      complain("a process has connected and not said which rank it is; it is refused");
      pending_.pop_front();
    }
    watch(fd.get(), kPending | static_cast<uint32_t>(fd.get()));
    pending_.push_back({std::move(fd), pid, false, {}});
  }
}

void Shm::read_pending(int fd) {
  const auto p = std::find_if(pending_.begin(), pending_.end(), [&](const Pending &q) { return q.socket.get() == fd; });
  if (p == pending_.end()) return;
  Packet got;
  Fd none;
  const ssize_t n = receive_packet(fd, got, none);
  if (n < 0 && errno == EAGAIN) return;
  const bool is_good = n > 0 && !p->has_hello && is_sound(got, static_cast<size_t>(n), kHello) && got.to == rank_ &&
                       got.from > rank_ && got.from < links_.size() && got.nranks == mine_.nranks && got.job == mine_.job &&
                       std::memcmp(got.to_id, mine_.id, sizeof mine_.id) == 0;
  if (!is_good) {
    if (n > 0) complain("process " + std::to_string(p->pid) + " has connected and is no rank of this job; it is refused");
    pending_.erase(p);
    return;
  }
  p->has_hello = true, p->hello = got;
  answer_pending(got.from);
}

void Shm::answer_pending(uint32_t rank) {
  Link &l = links_[rank];
  for (auto next = pending_.begin(); next != pending_.end();) {
    const auto p = next++;
    if (l.state != State::kWanted || l.socket) return;
    if (!p->has_hello || p->hello.from != rank) continue;
    if (std::memcmp(p->hello.from_id, l.theirs.id, sizeof l.theirs.id) == 0) {
      l.hello = p->hello, l.pid = p->pid;
      l.challenge = packet(kChallenge, rank, l);
      by_chance(l.challenge.nonce);
      prove(l.challenge.proof, "answers", l.hello, Packet{}, l.challenge);
      watch(p->socket.get(), kSocket | rank);
      if (send_packet(p->socket.get(), l.challenge)) l.socket = std::move(p->socket), l.step = kProof;
    }
    pending_.erase(p);
  }
}

// Next packet of a peer that is not up, or wakes of one that is.
void Shm::advance(uint32_t rank) {
  for (Link &l = links_[rank]; l.socket;) {
    Packet got;
    Fd fd;
    const ssize_t n = receive_packet(l.socket.get(), got, fd);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (l.state == State::kUp) {
      if (n > 0) continue;
      l.is_dead = true;
      return forget(l.socket);
    }
    if (n <= 0) return drop(rank, "it has closed the connection");
    if (!is_sound(got, static_cast<size_t>(n), l.step) || got.from != rank || got.to != rank_ || got.job != mine_.job ||
        got.nranks != mine_.nranks || std::memcmp(got.from_id, l.theirs.id, sizeof l.theirs.id) != 0)
      return drop(rank, "its packet makes no sense");
    uint8_t right[32];
    switch (l.step) {
      case kChallenge: {
        prove(right, "answers", l.hello, Packet{}, got);
        if (!memeql_sec(right, got.proof, sizeof right)) return drop(rank, "it does not have this job's secret");
        if (!has_my_settings(got)) return drop(rank, "it has another depth or unexpected; give all ranks the same");
        l.challenge = got;
        Packet mine = packet(kProof, rank, l);
        prove(mine.proof, "connects", l.hello, l.challenge, mine);
        Fd memory(memfd_create("consort-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        const auto bytes = static_cast<off_t>(kHeads + 2 * ring_bytes(settings_.depth, settings_.unexpected));
        if (!memory || ftruncate(memory.get(), bytes) < 0 || fcntl(memory.get(), F_ADD_SEALS, kSeals) < 0 ||
            !map(l, memory.get(), true))
          return drop(rank, "there is no memory to share");
        if (!send_packet(l.socket.get(), mine, memory.get())) return drop(rank, "it has closed the connection");
        l.step = kReady;
        break;
      }
      case kProof:
        prove(right, "connects", l.hello, l.challenge, got);
        if (!memeql_sec(right, got.proof, sizeof right)) return drop(rank, "it does not have this job's secret");
        if (!has_my_settings(got)) return drop(rank, "it has another depth or unexpected; give all ranks the same");
        if (!fd || !map(l, fd.get(), false))
          return drop(rank, "the memory that it shares is not what was agreed");
        if (!send_packet(l.socket.get(), packet(kReady, rank, l))) return drop(rank, "it has closed the connection");
        bring_up(rank, got);
        break;
      default:
        bring_up(rank, l.challenge);
    }
  }
}

// Sealed memory of the agreed size cannot be cut by the peer, so access to it never faults.
bool Shm::map(Link &l, int fd, bool is_first) {
  const uint64_t room = ring_bytes(settings_.depth, settings_.unexpected);
  struct stat about;
  if (fstat(fd, &about) < 0 || static_cast<uint64_t>(about.st_size) != kHeads + 2 * room) return false;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))) return false;
  void *const at = mmap(nullptr, kHeads + 2 * room, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return false;
  l.memory = static_cast<char *>(at), l.bytes = kHeads + 2 * room;
  auto *const first = reinterpret_cast<RingHead *>(l.memory), *const second = reinterpret_cast<RingHead *>(l.memory + kHeads / 2);
  char *const data = l.memory + kHeads;
  l.out = RingWriter(is_first ? first : second, is_first ? data : data + room, room);
  l.in = RingReader(is_first ? second : first, is_first ? data + room : data, room);
  return true;
}

void Shm::bring_up(uint32_t rank, const Packet &theirs) {
  Link &l = links_[rank];
  std::list<Arrived> arrived(settings_.depth + size_t{settings_.unexpected});  // all that may throw, first
  std::list<Fetch> fetches(settings_.depth);
  l.kept.reset(new char[size_t{settings_.unexpected} * kShort + 1]);
  l.free_slots.clear();
  for (uint32_t i = settings_.unexpected; i-- > 0;) l.free_slots.push_back(i);
  if (l.pid > 0 && l.pid != getpid()) {
    l.process = Fd(static_cast<int>(syscall(SYS_pidfd_open, l.pid, 0)));  // an old system has none: the socket says it, too
    if (l.process) watch(l.process.get(), kProcess | rank);
  }
  spare_arrived_.splice(spare_arrived_.end(), arrived);
  spare_fetches_.splice(spare_fetches_.end(), fetches);
  uint64_t seen = 0;
  Rows to{reinterpret_cast<char *>(&seen), sizeof seen, 1, 0};
  l.can_pull = settings_.may_pull && l.pid > 0 && pull(l.pid, to, {theirs.probe_at, sizeof seen, 0, 1, 0}, sizeof seen) &&
               seen == theirs.probe;
  l.state = State::kUp;
  up_.push_back(rank);
  raise(CONSORT_EV_PEER_UP, rank);
}

// Of a peer that is not up: told in the log. The rank that waits goes on waiting, for the one that has the secret.
void Shm::drop(uint32_t rank, const char *why) noexcept {
  unlink(links_[rank]);
  links_[rank].state = rank > rank_ ? State::kWanted : State::kNone;
  try {
    complain(name(rank) + " is not connected: " + why);
    if (rank > rank_) answer_pending(rank);
  } catch (const std::exception &) {  // without memory it is not told
  }
}

void Shm::look_at_sockets() noexcept {
  constexpr int kMost = 16;
  epoll_event found[kMost];
  for (int n = kMost, turn = 0; n == kMost && turn < 64; ++turn) {
    n = epoll_wait(epoll_.get(), found, kMost, 0);
    for (int i = 0; i < n; ++i) {
      const uint64_t what = found[i].data.u64 & kWhat;
      const uint32_t which = static_cast<uint32_t>(found[i].data.u64);
      try {
        uint64_t count;
        if (what == kWake)
          (void)!::read(wake_.get(), &count, sizeof count);
        else if (what == kListener)
          accept_all();
        else if (what == kPending)
          read_pending(static_cast<int>(which));
        else if (what == kSocket)
          advance(which);
        else
          links_[which].is_dead = true, forget(links_[which].process);
      } catch (const std::exception &) {
        if (what == kSocket && links_[which].state == State::kWanted) drop(which, "memory is short");
      }
    }
  }
  for (uint32_t rank = 0; rank < rank_; ++rank) {
    Link &l = links_[rank];
    if (l.state != State::kWanted || l.socket) continue;
    try {
      knock(l, rank);
    } catch (const std::exception &) {
      drop(rank, "it has closed");
    }
  }
}

}  // namespace shm
