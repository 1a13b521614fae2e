// Sockets: how two ranks meet, and how one loses the other.
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "sockets.hpp"

namespace sockets {

void Sockets::watch(const Fd &fd, uint32_t what, uint32_t number) noexcept {
  epoll_event e{};
  e.events = what, e.data.u32 = number;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd.get(), &e) < 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &e);
}

void Sockets::connect(uint32_t rank, std::span<const std::byte> bytes) {
  const auto name = [&] { return "rank " + std::to_string(rank); };
  if (rank >= links_.size()) throw Error(CONSORT_E_INVAL, "there are " + std::to_string(links_.size()) + " ranks; " + name() + " does not exist");
  if (bytes.size() != kAddressBytes) throw Error(CONSORT_E_INVAL, "an address of this transport has " + std::to_string(kAddressBytes) + " bytes");
  const auto word = [&](size_t at, size_t n) { return consort::shared::load_little(bytes.data() + at, n); };
  if (word(0, 4) != kMagic) throw Error(CONSORT_E_INVAL, "this is no address of the transport sockets");
  if (word(4, 4) != kVersion) throw Error(CONSORT_E_INVAL, name() + " speaks another version of the protocol; use one version on all ranks");
  if (word(8, 4) != rank || word(12, 4) != links_.size() || word(16, 8) != job_)
    throw Error(CONSORT_E_INVAL, "the address is that of another rank or job than " + name());
  if (rank == rank_) throw Error(CONSORT_E_UNSUPPORTED, "a rank does not connect to itself by sockets");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  std::memcpy(&to.sin_addr, bytes.data() + 40, 4), std::memcpy(&to.sin_port, bytes.data() + 44, 2);

  const std::lock_guard guard(mutex_);
  Link &l = links_[rank];
  if (l.state == State::kWanted || l.state == State::kUp) throw Error(CONSORT_E_BUSY, name() + " is connected already; disconnect it first");
  if (l.events) throw Error(CONSORT_E_BUSY, "the loss of " + name() + " is not reported yet; poll, then connect it again");
  if (!l.store) {  // all that may throw, first
    l.out.resize(4 * size_t{settings_.depth} + 8);  // sends, cancels, answers to both
    l.ready.resize(settings_.depth);
    l.free_store.reserve(settings_.unexpected);
    l.reading.buffer.reset(new std::byte[kInBuffer]);
    l.store.reset(new char[size_t{settings_.unexpected} * kShort + 1]);
  }
  Hello mine;
  mine.rank = rank_, mine.nranks = boot_.nranks, mine.depth = settings_.depth, mine.unexpected = settings_.unexpected, mine.job = job_;
  std::memcpy(mine.from, id_.data(), 16), std::memcpy(mine.to, bytes.data() + 24, 16);
  if (getrandom(mine.nonce, sizeof mine.nonce, 0) != sizeof mine.nonce) throw Error(CONSORT_E_IO, "the system gives no random numbers");
  std::list<Arrived> more(settings_.depth + size_t{settings_.unexpected});
  Fd fd = rank_ < rank ? dial(to) : Fd();
  spare_arrived_.splice(spare_arrived_.end(), more);
  l.nodes = settings_.depth + settings_.unexpected;
  l.free_store.clear();
  for (uint32_t i = settings_.unexpected; i-- > 0;) l.free_store.push_back(i);
  std::memcpy(l.id.data(), mine.to, 16);
  l.mine = mine, l.state = State::kWanted, l.has_hello = false;
  l.sent = l.sent_freed = l.freed = l.freed_told = 0, l.announced = 0;
  hang_up(l);
  if (fd) {
    l.fd = std::move(fd);
    greet(l, &l.mine, false);
    l.watches_output = true;
    return watch(l.fd, EPOLLIN | EPOLLOUT, rank);
  }
  for (Stranger &s : strangers_)
    if (s.is_known && s.hello.rank == rank) adopt(s);
}

// Forgets the connection and what was on its way there.
void Sockets::hang_up(Link &l) noexcept {
  l.fd.reset();
  l.greeting_bytes = l.greeting_sent = l.heard_bytes = 0;
  l.out_first = l.out_count = l.ready_first = l.ready_count = 0;
  l.writing = Writing();
  l.reading.begin = l.reading.end = 0, l.reading.left = 0, l.reading.to = nullptr;
  l.has_hello = l.watches_output = false;
}

void Sockets::greet(Link &l, const Hello *hello, bool proves) noexcept {
  if (hello) encode(*hello, l.greeting), l.greeting_bytes = kHelloBytes;
  if (!proves) return;
  uint8_t proof[kProofBytes];
  mac(proof, l.mine, l.theirs);
  std::memcpy(l.greeting + l.greeting_bytes, proof, sizeof proof);
  l.greeting_bytes += kProofBytes;
}

// A proof that the writer of hello `from` knows the secret, for the writer of hello `to`, at this time.
void Sockets::mac(uint8_t (&out)[kProofBytes], const Hello &from, const Hello &to) const noexcept {
  constexpr char what[] = "consort sockets 1";
  std::byte text[2 * kHelloBytes];
  encode(from, text), encode(to, text + kHelloBytes);
  hmac_sha256_ctx c;
  hmac_sha256_set_key(&c, boot_.nsecret, boot_.secret ? boot_.secret : reinterpret_cast<const uint8_t *>(""));
  hmac_sha256_update(&c, sizeof what, reinterpret_cast<const uint8_t *>(what));
  hmac_sha256_update(&c, sizeof text, reinterpret_cast<const uint8_t *>(text));
  hmac_sha256_digest(&c, sizeof out, out);
  explicit_bzero(&c, sizeof c);  // a key schedule of the secret
}

// -- who calls --------------------------------------------------------------------------------------------------------

void Sockets::accept_all() noexcept {
  for (int i = 0; i < 16; ++i) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    tune(fd);
    Stranger *place = &strangers_[0];  // a free one, else the oldest
    for (Stranger &s : strangers_)
      if (!s.fd || (place->fd && s.number < place->number)) place = &s;
    place->fd = std::move(fd), place->bytes = 0, place->number = ++strangers_seen_, place->is_known = false;
    watch(place->fd, EPOLLIN, kFirstStranger + static_cast<uint32_t>(place - strangers_.data()));
  }
}

void Sockets::hear(Stranger &s) noexcept {
  if (!s.fd) return;
  if (s.is_known) {  // it waits to be expected; only its end is of interest
    char more;
    if (::recv(s.fd.get(), &more, 1, MSG_PEEK) == 0) s.fd.reset();
    else watch(s.fd, EPOLLRDHUP, kFirstStranger + static_cast<uint32_t>(&s - strangers_.data()));
    return;
  }
  const ssize_t n = ::recv(s.fd.get(), s.heard + s.bytes, kHelloBytes - s.bytes, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return s.fd.reset();
  s.bytes += static_cast<uint32_t>(n);
  if (s.bytes < kHelloBytes) return;
  const bool is_ours = decode(s.heard, &s.hello) && s.hello.job == job_ && s.hello.nranks == links_.size() &&
                       s.hello.rank < rank_ && std::memcmp(s.hello.to, id_.data(), 16) == 0;
  if (!is_ours) {
    complain(kNone, "a process that is no rank of this job is refused");
    return s.fd.reset();
  }
  s.is_known = true;
  if (links_[s.hello.rank].state == State::kWanted) adopt(s);
}

// Answers with this rank's hello and proof.
void Sockets::adopt(Stranger &s) noexcept {
  const uint32_t rank = s.hello.rank;
  Link &l = links_[rank];
  if (std::memcmp(s.hello.from, l.id.data(), 16) != 0) {
    complain(rank, "another process says that it is this one; it is refused");
    return s.fd.reset();
  }
  hang_up(l);
  l.fd = std::move(s.fd), l.theirs = s.hello, l.has_hello = true;
  s.is_known = false;
  greet(l, &l.mine, true);
  l.watches_output = false;
  watch(l.fd, EPOLLIN, rank);
  write_some(rank);
}

// False: nothing more can be read now, or the connection is over.
bool Sockets::hear_greeting(uint32_t rank) noexcept {
  Link &l = links_[rank];
  const uint32_t wanted = l.has_hello ? kProofBytes : kHelloBytes;
  const ssize_t n = ::recv(l.fd.get(), l.heard + l.heard_bytes, wanted - l.heard_bytes, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) return hang_up(l), false;
  if ((l.heard_bytes += static_cast<uint32_t>(n)) < wanted) return true;
  l.heard_bytes = 0;
  const auto refuse = [&](const char *why) { return complain(rank, why), hang_up(l), false; };
  if (!l.has_hello) {
    if (!decode(l.heard, &l.theirs) || l.theirs.rank != rank || std::memcmp(l.theirs.from, l.id.data(), 16) != 0 ||
        std::memcmp(l.theirs.to, id_.data(), 16) != 0)
      return refuse("is not connected: another process answers at its address");
    l.has_hello = true;
    greet(l, nullptr, true);
    write_some(rank);
    return static_cast<bool>(l.fd);
  }
  uint8_t right[kProofBytes];
  mac(right, l.theirs, l.mine);
  if (!memeql_sec(right, l.heard, sizeof right)) return refuse("is not connected: it does not have this job's secret");
  if (l.theirs.depth != settings_.depth || l.theirs.unexpected != settings_.unexpected)
    return refuse("is not connected: it has another depth or unexpected; give all ranks the same");
  l.state = State::kUp;
  raise(CONSORT_EV_PEER_UP, rank);
  return true;
}

// -- loss -------------------------------------------------------------------------------------------------------------

void Sockets::disconnect(uint32_t rank) noexcept {
  const std::lock_guard guard(mutex_);
  if (rank < links_.size()) lose(rank, false);
}

// Ends all that was under way with this peer. tells: the peer has gone, and the host does not know yet.
void Sockets::lose(uint32_t rank, bool tells) noexcept {
  Link &l = links_[rank];
  const bool was_up = l.state == State::kUp;
  if (!was_up && l.state != State::kWanted) return;
  if (!was_up && tells) return hang_up(l);  // it may come again
  l.state = was_up ? State::kLost : State::kNone;
  if (l.fd) ::shutdown(l.fd.get(), SHUT_WR);
  if (l.fd && was_up && !tells) {  // closing with unread bytes would take from the peer what it has not read
    char gone[4096];
    while (::recv(l.fd.get(), gone, sizeof gone, 0) > 0) {}
  }
  hang_up(l);
  for (Op &op : ops_)
    if (op.step != Step::kFree && op.m.peer == rank) end_op(op, CONSORT_E_PEER_LOST);
  for (Fetch &f : fetches_)
    if (f.rank == rank) end_fetch(f, CONSORT_E_PEER_LOST);
  for (auto r = receives_.begin(); r != receives_.end();) {  // receives from any rank stay
    const auto here = r++;
    if (here->peer != rank) continue;
    finish(*here, CONSORT_E_PEER_LOST);
    spare_receives_.splice(spare_receives_.end(), receives_, here);
  }
  for (auto a = arrived_.begin(); a != arrived_.end();) {
    const auto here = a++;
    if (here->rank == rank) spare_arrived_.splice(spare_arrived_.end(), arrived_, here);
  }
  for (; l.nodes; --l.nodes) spare_arrived_.pop_front();
  if (was_up && tells) raise(CONSORT_EV_PEER_LOST, rank);
}

// Peers that are still there get the end of the stream, and what was written before it, while this rank waits for theirs.
Sockets::~Sockets() {
  const std::lock_guard guard(mutex_);
  for (const Link &l : links_)
    if (l.state == State::kUp) ::shutdown(l.fd.get(), SHUT_WR);
  const uint64_t begin = host().now();
  for (const Link &l : links_) {
    char gone[4096];
    for (ssize_t n = 1; l.state == State::kUp && n != 0;) {
      n = ::recv(l.fd.get(), gone, sizeof gone, 0);
      if (n >= 0) continue;
      const uint64_t passed = host().now() - begin;
      pollfd p{l.fd.get(), POLLIN, 0};
      if ((errno != EAGAIN && errno != EINTR) || passed >= 20'000'000 || ::poll(&p, 1, static_cast<int>(21 - passed / 1'000'000)) <= 0) break;
    }
  }
}

}  // namespace sockets
