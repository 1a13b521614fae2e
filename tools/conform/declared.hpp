// declared.hpp — the parameters that a plugin declares, for whoever sets some of them.
//
// They stand in a table that only the plugin's entry shows, which is code that nobody has judged yet: it runs in a
// process of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"

namespace conform {

struct Param {
  std::string key, type, range;
};

// Nothing: the entry does not come back with a table, as the cases will tell.
std::optional<std::vector<Param>> declared_params(const Subject &);

}  // namespace conform
