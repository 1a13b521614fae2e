// suggestion.hpp — "did you mean": the word that somebody most likely meant.
//
// Pure functions over words, for error texts. [any] thread; never on a hot path.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace consort {

// The most alike of `words`, or "" if none is alike enough to be worth saying.
std::string nearest(std::string_view word, const std::vector<std::string> &words);
// ' (did you mean "window"?)', or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string> &words);

}  // namespace consort
