// own_address.hpp — which address of this machine the setting ofi.network means.
#pragma once
#include <string>

namespace ofi {

// "10.1.0.0/16", "fd00::/64": the first address of this machine in that network; anything else is returned as it is. Throws
// an Error for a network that is none, or in which this machine has no address.
std::string own_address(const std::string &network);

}  // namespace ofi
