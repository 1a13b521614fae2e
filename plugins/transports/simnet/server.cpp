#include "server.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <consort/plugin/host.hpp>

#include <cstddef>
#include <cstdio>

#include "client.hpp"
#include "wire.hpp"

namespace simnet {
namespace {

using consort::plugin::Error;

constexpr int kPatience = 10;             // seconds for the first messages of a connection

}  // namespace

socklen_t address_of(const std::string &name, sockaddr_un *out) noexcept {
  *out = {};
  out->sun_family = AF_UNIX;  // abstract: the first byte of the path is 0
  const size_t n = name.copy(out->sun_path + 1, sizeof out->sun_path - 1);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}

bool is_own_user(int fd) noexcept {
  ucred peer{};
  socklen_t n = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

void limit(int fd, int seconds) noexcept {
  const timeval t{seconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
}

Server::Server(std::shared_ptr<Meeting> meeting, Secret secret)
    : meeting_(std::move(meeting)), secret_(secret), taken_(meeting_->ranks()) {
  char text[32];
  std::snprintf(text, sizeof text, "consort-%016llx", static_cast<unsigned long long>(meeting_->number()));
  name_ = text;
  listening_ = transports::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un at;
  const socklen_t n = address_of(name_, &at);
  if (!listening_ || ::bind(listening_.get(), reinterpret_cast<sockaddr *>(&at), n) < 0 || ::listen(listening_.get(), 128) < 0)
    throw Error(CONSORT_E_IO, "no socket for the ranks of other processes");
  thread_ = std::thread([this] { accept_all(); });
}

Server::~Server() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    for (Guest &g : guests_)
      if (!g.is_rank) ::shutdown(g.fd.get(), SHUT_RDWR);
  }
  ::shutdown(listening_.get(), SHUT_RDWR);  // ends accept()
  thread_.join();
  for (Guest &g : guests_)
    if (g.thread.joinable()) g.thread.join();
}

void Server::accept_all() noexcept {
  for (;;) {
    transports::Fd fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::lock_guard lock(mutex_);
    if (is_closed_ || (!fd && errno != EINTR && errno != ECONNABORTED)) return;
    if (!fd || !is_own_user(fd.get()) || guests_.size() > 4 * taken_.size() + 64) continue;
    try {
      Guest &g = guests_.emplace_back();
      g.fd = std::move(fd);
      g.thread = std::thread([this, &g] { serve(g); });
    } catch (const std::exception &) {  // no memory or no thread: that rank sees a closed connection
      if (!guests_.empty() && !guests_.back().thread.joinable()) guests_.pop_back();
    }
  }
}

bool Server::admit(Guest &g, uint32_t *rank) {
  limit(g.fd.get(), kPatience);
  Hello hello;
  if (!receive_all(g.fd.get(), &hello, sizeof hello)) return false;
  const Answer mine{new_nonce(), prove(secret_, "simnet clock", hello.nonce, hello.rank)};
  Proof theirs;
  if (!send_all(g.fd.get(), &mine, sizeof mine) || !receive_all(g.fd.get(), &theirs, sizeof theirs)) return false;
  if (!is_same(theirs, prove(secret_, "simnet rank", mine.nonce, hello.rank))) return false;
  const std::lock_guard lock(mutex_);
  if (hello.rank == 0 || hello.rank >= taken_.size() || taken_[hello.rank]) return false;
  g.is_rank = taken_[hello.rank] = true;
  *rank = hello.rank;
  limit(g.fd.get(), 0);
  const char is_good = 1;
  return send_all(g.fd.get(), &is_good, 1);
}

void Server::serve(Guest &g) noexcept {
  uint32_t rank = 0;
  try {
    if (admit(g, &rank)) {
      for (Bytes frame;;) {
        Turn t;
        if (!receive_frame(g.fd.get(), &frame, kMostFrame) || !decode(frame, &t)) break;
        if (t.kind == Turn::kLeave) {
          meeting_->leave(rank, std::move(t.posts));
          break;
        }
        if (!send_frame(g.fd.get(), encode(meeting_->wait(rank, t.now, t.until, std::move(t.posts))))) break;
      }
    }
  } catch (const std::exception &) {  // no memory: as if it had ended
  }
  if (rank) meeting_->lost(rank);
  ::shutdown(g.fd.get(), SHUT_RDWR);
}

}  // namespace simnet
