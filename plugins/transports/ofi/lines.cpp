#include "lines.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <consort/plugin/host.hpp>
#include <cstring>

namespace ofi {
namespace {

using consort::plugin::Error;

constexpr uint64_t kOther = ~uint64_t{0}, kListener = kOther - 1, kStranger = uint64_t{1} << 32;

[[noreturn]] void fail(const char *what) { throw Error(CONSORT_E_IO, std::string(what) + ": " + std::strerror(errno)); }

// The address in 16 bytes (of IPv4: mapped) and the port in two, the high byte first.
sockaddr_in6 socket_name(const std::array<uint8_t, Lines::kName> &where) noexcept {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  std::memcpy(&name.sin6_addr, where.data(), 16);
  std::memcpy(&name.sin6_port, where.data() + 16, 2);
  return name;
}

// A host that is gone is noticed within 2 s, whether this side sends or not.
void keep_alive(int fd) noexcept {
  const int on = 1, seconds = 1, milliseconds = 1200;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

}  // namespace

Lines::Lines(const std::string &network, uint32_t ranks, const Id &mine) : mine_(mine), lines_(ranks) {
  const std::string text = network.find(':') == std::string::npos ? "::ffff:" + network : network;
  if (inet_pton(AF_INET6, text.c_str(), where_.data()) != 1)
    throw Error(CONSORT_E_INVAL, "ofi.network = \"" + network + "\" is no address of IPv4 or IPv6");
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  listener_ = Fd(socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!epoll_ || !listener_) fail("no socket for other ranks");
  const int off = 0;
  setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 name = socket_name(where_);
  socklen_t n = sizeof name;
  if (bind(listener_.get(), reinterpret_cast<sockaddr *>(&name), n) < 0) fail(("ofi.network = \"" + network + "\"").c_str());
  if (listen(listener_.get(), SOMAXCONN) < 0 || getsockname(listener_.get(), reinterpret_cast<sockaddr *>(&name), &n) < 0)
    fail("no socket for other ranks");
  std::memcpy(where_.data() + 16, &name.sin6_port, 2);
  epoll_event e{};
  e.events = EPOLLIN | EPOLLET, e.data.u64 = kListener;  // ET: a connection that cannot be accepted wakes once
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &e) < 0) fail("epoll_ctl");
}

void Lines::watch(int fd) {
  epoll_event e{};
  e.events = EPOLLIN, e.data.u64 = kOther;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &e) < 0) fail("epoll_ctl");
}

void Lines::adopt(uint32_t rank, Fd socket) {
  keep_alive(socket.get());
  epoll_event e{};
  e.events = EPOLLIN, e.data.u64 = rank;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket.get(), &e) < 0 && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &e) < 0)
    fail("epoll_ctl");
  lines_[rank].socket = std::move(socket);
}

void Lines::expect(uint32_t rank, const Id &theirs) {
  close(rank);
  lines_[rank].id = theirs, lines_[rank].is_wanted = true;
  for (auto s = strangers_.begin(); s != strangers_.end();) {  // it may have come before
    const auto here = s++;
    if (here->got == sizeof here->text) read(here);
  }
}

void Lines::connect(uint32_t rank, const Id &theirs, const std::array<uint8_t, kName> &where) {
  close(rank);
  Fd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) fail("no socket for another rank");
  const int off = 0, milliseconds = 2000, on = 1;
  setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  setsockopt(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval most{2, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);  // also of connect()
  const sockaddr_in6 name = socket_name(where);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr *>(&name), sizeof name) < 0) {
    if (errno != ECONNREFUSED) fail("the rank cannot be reached");
    throw Error(CONSORT_E_PEER_LOST, "the rank has closed since it gave this address");
  }
  uint8_t text[36];
  const uint32_t number = htonl(rank);
  std::memcpy(text, mine_.data(), 16), std::memcpy(text + 16, theirs.data(), 16), std::memcpy(text + 32, &number, 4);
  if (send(fd.get(), text, sizeof text, MSG_NOSIGNAL) != sizeof text) fail("the rank closes while it is connected");
  lines_[rank].id = theirs;
  adopt(rank, std::move(fd));
}

void Lines::close(uint32_t rank) noexcept {
  if (Fd &socket = lines_[rank].socket) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);  // a child of fork() may keep it open
    shutdown(socket.get(), SHUT_RDWR);
  }
  lines_[rank] = Line{};
}

void Lines::accept_all() {
  for (;;) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      is_called_ = errno != EAGAIN;  // without a descriptor, say: tried again at the next look
      return;
    }
    if (strangers_.size() > lines_.size() + 16) make_room();
    epoll_event e{};
    e.events = EPOLLIN, e.data.u64 = kStranger | static_cast<uint32_t>(fd.get());
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &e) < 0) continue;
    strangers_.push_back({std::move(fd), 0, {}});
  }
}

// Closes the oldest stranger that has not said which rank it is; a rank that is not expected yet stays.
void Lines::make_room() noexcept {
  const size_t before = strangers_.size();
  for (auto s = strangers_.begin(); s != strangers_.end();) {
    const auto here = s++;
    if (here->got < sizeof here->text) read(here);
  }
  if (strangers_.size() < before) return;
  const auto silent = std::find_if(strangers_.begin(), strangers_.end(), [](const Stranger &s) { return s.got < sizeof s.text; });
  strangers_.erase(silent == strangers_.end() ? strangers_.begin() : silent);
}

void Lines::read(std::list<Stranger>::iterator s) noexcept {
  if (s->got < sizeof s->text) {
    const ssize_t n = recv(s->socket.get(), s->text + s->got, sizeof s->text - s->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) return (void)strangers_.erase(s);
    if ((s->got += static_cast<size_t>(n)) < sizeof s->text) return;
  }
  if (std::memcmp(s->text + 16, mine_.data(), 16) != 0) return (void)strangers_.erase(s);
  for (uint32_t rank = 0; rank < lines_.size(); ++rank) {
    Line &l = lines_[rank];
    if (!l.is_wanted || l.socket || std::memcmp(s->text, l.id.data(), 16) != 0) continue;
    try {
      adopt(rank, std::move(s->socket));
    } catch (const std::exception &) {
      l.is_broken = true;
    }
    strangers_.erase(s);
    return;
  }
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, s->socket.get(), nullptr);  // until it is expected
}

void Lines::look() noexcept {
  epoll_event found[16];
  const int n = epoll_wait(epoll_.get(), found, 16, 0);
  for (int i = 0; i < n; ++i) {
    const uint64_t what = found[i].data.u64;
    if (what == kOther) continue;
    if (what == kListener) {
      is_called_ = true;
    } else if (what & kStranger) {
      for (auto s = strangers_.begin(); s != strangers_.end(); ++s)
        if (s->socket.get() == static_cast<int>(static_cast<uint32_t>(what))) {
          read(s);
          break;
        }
    } else {
      Line &l = lines_[what];
      char none[64];
      const ssize_t got = l.socket ? recv(l.socket.get(), none, sizeof none, MSG_DONTWAIT) : -1;
      if (!l.socket || got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) continue;
      epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, l.socket.get(), nullptr);
      l.socket.reset();
      l.is_broken = true;
    }
  }
  if (!is_called_) return;
  try {
    accept_all();
  } catch (const std::bad_alloc &) {  // tried again at the next look
  }
}

}  // namespace ofi
