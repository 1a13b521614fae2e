// ofi.hpp — one rank of a job over libfabric. ../packets has the messages; network.cpp has the calls of libfabric; lines.cpp
// sees that a peer has ended.
#pragma once
#include "../packets/endpoint.hpp"
#include "../pmix/board.hpp"
#include "lines.hpp"
#include "network.hpp"

namespace ofi {

using namespace consort::plugin;
using namespace transports;

class Ofi final : public Endpoint {
 public:
  static constexpr const char *summary = "messages over a provider of libfabric", *license = "Apache-2.0";
  static constexpr Param<uint32_t> depth{"depth", "128", "1..4096", "sends in flight, and as many receives; the same on all ranks"};
  static constexpr Param<uint32_t> unexpected{"unexpected", "64", "1..4096",
                                              "messages of up to 1024 bytes stored for each peer without a matching RECV"};
  static constexpr Param<std::string> provider{"provider", "tcp", nullptr, "provider of libfabric, as fi_info lists them"};
  static constexpr Param<std::string> network{"network", "127.0.0.1", nullptr, "address of this machine to listen on, or a network as 10.1.0.0/16 with it"};
  static constexpr Param<std::string> wait{"wait", "fd", "fd|none", "fd: a descriptor to sleep on, where the provider has one"};
  static constexpr auto params = parameters(depth, unexpected, provider, network, wait);
  struct Settings {
    explicit Settings(Host host);
    uint32_t depth, unexpected;
    std::string provider, network;
    bool waits;
  };

  Ofi(const Settings &, Host, const consort_boot &, uint64_t token, consort_tcaps &);
  ~Ofi();
  static consort_boot boot(Host host, uint64_t deadline) { return pmix::boot(host, deadline); }
  uint32_t address(std::span<std::byte> room) noexcept;
  void connect(uint32_t rank, std::span<const std::byte> address);
  int event_fd() noexcept { return network_.fd() < 0 ? -1 : lines_.fd(); }
  consort_status arm() noexcept;

 private:
  static constexpr uint32_t kName = 128, kAddress = Address::kBytes + Lines::kName + 2 + kName;
  void look() noexcept override;
  void reported() noexcept override;
  void left(uint32_t rank) noexcept override;

  Network network_;
  Lines lines_;
  Fd wake_;
  bool armed_ = false;
  std::vector<uint64_t> broken_since_, stuck_since_;  // ns of the host's clock; 0: not
};

}  // namespace ofi
