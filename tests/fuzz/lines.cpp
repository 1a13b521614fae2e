// Strangers and peers that connect to a rank's listener (plugins/transports/ofi/lines.hpp) and write what they like there. Input:
// actions of act(). Promise: a line to a rank breaks only if a peer has said the ids of both.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <vector>

#include "fuzz.hpp"
#include "plugins/transports/ofi/lines.hpp"

namespace {

constexpr uint32_t kRanks = 3;
constexpr size_t kText = 36;

ofi::Id id_of(uint32_t rank) {
  ofi::Id id;
  id.fill(static_cast<uint8_t>(0xa0 + rank));
  return id;
}

class Crowd {
 public:
  Crowd() : lines_("127.0.0.1", kRanks, id_of(kRanks)) {}
  void act(fuzz::Bytes &in) {
    const uint32_t rank = in.below(kRanks), which = in.below(8);
    switch (in.below(6)) {
      case 0: connect(); break;
      case 1: write(which, in.text(60)); break;
      case 2: say(which, rank, in); break;
      case 3: lines_.expect(rank, id_of(rank)); break;
      case 4: lines_.close(rank); break;
      default:
        if (which < peers_.size()) peers_[which].socket.reset();
    }
    lines_.look();
    for (uint32_t r = 0; r < kRanks; ++r) fuzz::expect(said_[r] || !lines_.is_broken(r), "no stranger breaks a line");
  }

 private:
  struct Peer {
    transports::Fd socket;
    std::string said;
  };
  void connect() {
    if (peers_.size() == 8) return;
    const auto where = lines_.where();
    sockaddr_in6 name{};
    name.sin6_family = AF_INET6;
    std::memcpy(&name.sin6_addr, where.data(), 16);
    std::memcpy(&name.sin6_port, where.data() + 16, 2);
    transports::Fd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int off = 0;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::connect(fd.get(), reinterpret_cast<const sockaddr *>(&name), sizeof name) == 0) peers_.push_back({std::move(fd), {}});
  }
  void write(uint32_t which, std::string_view text) {
    if (which >= peers_.size() || !peers_[which].socket) return;
    Peer &p = peers_[which];
    const ssize_t n = send(p.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) p.said += text.substr(0, static_cast<size_t>(n));
    for (uint32_t r = 0; r < kRanks && p.said.size() >= kText; ++r)
      said_[r] |= !std::memcmp(p.said.data(), id_of(r).data(), 16) && !std::memcmp(p.said.data() + 16, id_of(kRanks).data(), 16);
  }
  // What a peer of this rank says, with at most one byte changed.
  void say(uint32_t which, uint32_t rank, fuzz::Bytes &in) {
    char text[kText];
    const uint32_t number = htonl(kRanks);
    std::memcpy(text, id_of(rank).data(), 16), std::memcpy(text + 16, id_of(kRanks).data(), 16), std::memcpy(text + 32, &number, 4);
    const uint32_t at = in.below(2 * kText);
    if (at < kText) text[at] = static_cast<char>(text[at] ^ in.byte());
    write(which, {text, sizeof text});
  }

  ofi::Lines lines_;
  std::vector<Peer> peers_;
  bool said_[kRanks] = {};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  Crowd crowd;
  for (int i = 0; i < 200 && !in.empty(); ++i) crowd.act(in);
  return 0;
}
