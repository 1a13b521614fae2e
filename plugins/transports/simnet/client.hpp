// client.hpp — a rank's way to the domain in the process of rank 0. One thread at a time.
#pragma once
#include <sys/un.h>

#include <string>

#include "../fd.hpp"
#include "domain.hpp"
#include "proof.hpp"

namespace simnet {

socklen_t address_of(const std::string &name, sockaddr_un *out) noexcept;
bool is_own_user(int fd) noexcept;
void limit(int fd, int seconds) noexcept;  // of the time that a read takes; 0: none

class Client {
 public:
  Client(const std::string &socket, uint32_t rank, Secret);  // throws Error
  // As of Meeting. Throws Error when rank 0 is gone.
  Grant wait(uint64_t now, uint64_t until, std::vector<Post> posts);
  void leave(std::vector<Post> posts) noexcept;

 private:
  const uint32_t rank_;
  transports::Fd fd_;
};

}  // namespace simnet
