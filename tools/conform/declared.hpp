// declared.hpp — the parameters that a plugin declares, for code that sets some of them.
//
// They are in a table that only the plugin's entry returns. The entry is untested code, so it runs in a process of its
// own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"

namespace conform {

struct Param {
  std::string key, type, range;
};

// Returns nothing if the entry does not return a table; the cases report that.
std::optional<std::vector<Param>> declared_params(const Subject &);

}  // namespace conform
