// lines.hpp — a TCP connection between each two ranks that carries nothing but the end of its process.
//
// Providers of libfabric tell a rank that only receives nothing of the end of a peer. The rank with the higher number
// connects to the other's listener, and says which two ranks it connects by the ids of their addresses, which strangers
// do not know. The system closes the connection of a process that ends; of a host that is gone by keepalive, in 2 s.
// Under the endpoint's lock.
#pragma once
#include <array>
#include <list>
#include <string>
#include <vector>

#include "../fd.hpp"

namespace ofi {

using transports::Fd;
using Id = std::array<uint8_t, 16>;

class Lines {
 public:
  static constexpr uint32_t kName = 18;  // bytes of where(): an address and a port

  // Listens on the address, "127.0.0.1" or another of this machine, IPv4 or IPv6. Throws an Error.
  Lines(const std::string &network, uint32_t ranks, const Id &mine);
  std::array<uint8_t, kName> where() const noexcept { return where_; }
  void expect(uint32_t rank, const Id &theirs);                                          // rank connects. Throws
  void connect(uint32_t rank, const Id &theirs, const std::array<uint8_t, kName> &where);  // throws
  void close(uint32_t rank) noexcept;
  bool is_broken(uint32_t rank) const noexcept { return lines_[rank].is_broken; }
  void look() noexcept;                                                                  // at what has happened
  int fd() const noexcept { return epoll_.get(); }                                       // readable: look()
  void watch(int fd);                                                                    // fd() is readable with it. Throws

 private:
  struct Line {
    Fd socket;
    Id id{};
    bool is_wanted = false, is_broken = false;
  };
  struct Stranger {  // has connected, and not said which rank it is
    Fd socket;
    size_t got = 0;
    uint8_t text[36];
  };
  void accept_all();
  void make_room() noexcept;
  void read(std::list<Stranger>::iterator) noexcept;
  void adopt(uint32_t rank, Fd);

  const Id mine_;
  std::array<uint8_t, kName> where_{};
  Fd epoll_, listener_;
  std::vector<Line> lines_;
  std::list<Stranger> strangers_;
  bool is_called_ = false;  // a connection may wait at the listener
};

}  // namespace ofi
