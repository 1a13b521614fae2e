#include "own_address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <consort/plugin/host.hpp>
#include <cstring>
#include <memory>

namespace ofi {
namespace {

using consort::plugin::Error;

struct Bytes {
  int family;
  std::array<unsigned char, 16> bytes{};
  unsigned bits() const { return family == AF_INET ? 32 : 128; }
};

bool is_in(const Bytes &network, unsigned bits, const Bytes &address) {
  if (network.family != address.family) return false;
  for (unsigned i = 0; i < bits; ++i) {
    const auto at = [&](const Bytes &b) { return b.bytes[i / 8] >> (7 - i % 8) & 1; };
    if (at(network) != at(address)) return false;
  }
  return true;
}

Bytes bytes_of(const sockaddr &a) {
  Bytes b{a.sa_family, {}};
  if (a.sa_family == AF_INET) std::memcpy(b.bytes.data(), &reinterpret_cast<const sockaddr_in &>(a).sin_addr, 4);
  else std::memcpy(b.bytes.data(), &reinterpret_cast<const sockaddr_in6 &>(a).sin6_addr, 16);
  return b;
}

}  // namespace

std::string own_address(const std::string &network) {
  const size_t slash = network.find('/');
  if (slash == network.npos) return network;
  const auto wrong = [&](const char *why) { return Error(CONSORT_E_INVAL, "ofi.network = \"" + network + "\" " + why); };
  const std::string name = network.substr(0, slash), digits = network.substr(slash + 1);
  Bytes wanted{name.find(':') == name.npos ? AF_INET : AF_INET6, {}};
  const bool is_number = !digits.empty() && digits.size() <= 3 &&
                         std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
  const unsigned bits = is_number ? static_cast<unsigned>(std::stoul(digits)) : ~0u;
  if (inet_pton(wanted.family, name.c_str(), wanted.bytes.data()) != 1 || bits > wanted.bits())
    throw wrong("is no network; write one as 10.1.0.0/16 or fd00::/64");
  ifaddrs *list = nullptr;
  if (getifaddrs(&list) != 0) throw wrong("cannot be looked up: the system tells no addresses");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs *)> all(list, freeifaddrs);
  for (const ifaddrs *i = list; i; i = i->ifa_next) {
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6)) continue;
    const Bytes own = bytes_of(*i->ifa_addr);
    if (!is_in(wanted, bits, own)) continue;
    char text[INET6_ADDRSTRLEN];
    if (inet_ntop(own.family, own.bytes.data(), text, sizeof text)) return text;
  }
  throw wrong("has no address of this machine; see ip address");
}

}  // namespace ofi
