// fd.hpp — descriptors that close themselves, and the calls of the system that make sockets. Each throws an Error with words.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <consort/plugin/host.hpp>
#include <cstring>
#include <string>
#include <utility>

namespace sockets {

using consort::plugin::Error;

class Fd {
 public:
  explicit Fd(int fd = -1) noexcept : fd_(fd) {}
  Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd &operator=(Fd &&other) noexcept {
    std::swap(fd_, other.fd_);
    other.reset();
    return *this;
  }
  ~Fd() { reset(); }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_;
};

inline Fd checked(int fd, const std::string &what) {
  if (fd < 0) throw Error(errno == ENOMEM || errno == ENOBUFS ? CONSORT_E_NOMEM : CONSORT_E_IO, what + ": " + std::strerror(errno));
  return Fd(fd);
}

inline Fd new_socket() { return checked(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "no socket"); }

// On any free port of that address of this machine.
inline Fd listen_on(const std::string &host, sockaddr_in *at) {
  *at = {};
  at->sin_family = AF_INET;
  if (::inet_pton(AF_INET, host.c_str(), &at->sin_addr) != 1)
    throw Error(CONSORT_E_INVAL, "sockets.host = \"" + host + "\" is no IPv4 address, such as 127.0.0.1");
  Fd fd = new_socket();
  socklen_t n = sizeof *at;
  if (::bind(fd.get(), reinterpret_cast<sockaddr *>(at), n) < 0 || ::listen(fd.get(), 128) < 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr *>(at), &n) < 0)
    throw Error(CONSORT_E_IO, "cannot listen on " + host + ": " + std::strerror(errno) + "; sockets.host names an address of this machine");
  return fd;
}

// Small frames go at once; a host that is gone is noticed within 2 s, whether this side sends or not.
inline void tune(const Fd &fd) noexcept {
  const int on = 1, idle = 1, between = 1, probes = 1, unanswered = 1500;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof unanswered);
}

// Begins to connect; the socket becomes writable when it is, or has failed.
inline Fd dial(const sockaddr_in &to) {
  Fd fd = new_socket();
  tune(fd);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr *>(&to), sizeof to) < 0 && errno != EINPROGRESS)
    throw Error(CONSORT_E_IO, std::string("no connection: ") + std::strerror(errno));
  return fd;
}

}  // namespace sockets
