// names.hpp — names of sockets, numbers by chance, what a descriptor of the epoll set is.
#pragma once
#include <consort/plugin/host.hpp>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdio>
#include <cstring>

namespace shm {

constexpr uint64_t kWake = uint64_t{1} << 32, kListener = uint64_t{2} << 32, kPending = uint64_t{3} << 32,
                   kSocket = uint64_t{4} << 32, kProcess = uint64_t{5} << 32, kWhat = ~uint64_t{UINT32_MAX};

template <class T>
void by_chance(T &out) {
  if (getrandom(&out, sizeof out, 0) != static_cast<ssize_t>(sizeof out))
    throw consort::plugin::Error(CONSORT_E_IO, "the system gives no random numbers");
}

// In the abstract namespace: it is no file, and it is gone with its process.
class SocketName {
 public:
  explicit SocketName(const uint8_t (&id)[16]) noexcept {
    name_.sun_family = AF_UNIX;
    char *at = name_.sun_path + 1;
    at += std::snprintf(at, 16, "consort-shm-");
    for (const uint8_t byte : id) at += std::snprintf(at, 3, "%02x", byte);
    size_ = static_cast<socklen_t>(at - reinterpret_cast<char *>(&name_));
  }
  const sockaddr *get() const noexcept { return reinterpret_cast<const sockaddr *>(&name_); }
  socklen_t size() const noexcept { return size_; }

 private:
  sockaddr_un name_{};
  socklen_t size_;
};

}  // namespace shm
