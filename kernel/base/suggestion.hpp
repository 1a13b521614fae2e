// suggestion.hpp — "did you mean": the known word nearest to a misspelt one.
//
// Pure functions over words, for error texts. [any] thread; never on a hot path.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace consort {

// Returns the nearest of `words`, or "" if none is similar enough.
std::string nearest(std::string_view word, const std::vector<std::string> &words);
// Returns ' (did you mean "window"?)', or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string> &words);

}  // namespace consort
