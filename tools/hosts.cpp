#include "hosts.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "terminal.hpp"

namespace tool {
namespace {

constexpr uint32_t kMostRanks = 4096;

std::runtime_error wrong(const std::string &hosts, const std::string &why) {
  return std::runtime_error("--hosts " + printable(hosts) + ": " + why);
}

// "host:N", "[address]:N", or either without a number, which is then 0.
HostShare one_of(const std::string &hosts, std::string word) {
  HostShare s;
  const size_t bracket = word.rfind(']'), colon = word.rfind(':');
  if (colon != word.npos && (bracket == word.npos || colon > bracket)) {
    const std::string number = word.substr(colon + 1);
    const bool is_number = !number.empty() && number.size() <= 4 &&
                           std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); });
    s.count = is_number ? static_cast<uint32_t>(std::stoul(number)) : 0;
    if (s.count == 0 || s.count > kMostRanks) throw wrong(hosts, "\"" + printable(number) + "\" is no number of ranks");
    word.resize(colon);
  }
  s.host = word;
  std::erase_if(s.host, [](char c) { return c == '[' || c == ']'; });
  const bool is_name = !s.host.empty() && s.host[0] != '-' && std::all_of(s.host.begin(), s.host.end(), [](unsigned char c) {
    return std::isalnum(c) || std::string_view("._-@:%").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (!is_name) throw wrong(hosts, "\"" + printable(word) + "\" is no name of a machine; write HOST[:RANKS],HOST[:RANKS]");
  return s;
}

}  // namespace

std::vector<HostShare> shares_of(const std::string &hosts, uint32_t ranks) {
  std::vector<HostShare> all;
  for (size_t at = 0; at <= hosts.size();) {
    const size_t comma = std::min(hosts.find(',', at), hosts.size());
    all.push_back(one_of(hosts, hosts.substr(at, comma - at)));
    at = comma + 1;
  }
  uint32_t open = 0, numbered = 0;
  for (const HostShare &s : all) open += s.count == 0, numbered += s.count;
  uint32_t rest = ranks > numbered ? ranks - numbered : 0;
  if (rest > 0 && open == 0)
    throw wrong(hosts, "has room for " + std::to_string(numbered) + " ranks, and -n asks for " + std::to_string(ranks));
  uint32_t next = 0;
  for (HostShare &s : all) {
    if (s.count == 0) {
      s.count = (rest + open - 1) / open;
      rest -= s.count, --open;
    }
    s.first = next;
    s.count = std::min(s.count, ranks - next);
    next += s.count;
  }
  std::erase_if(all, [](const HostShare &s) { return s.count == 0; });
  return all;
}

}  // namespace tool
