// report.hpp — results as text, as JSON, as JUnit's XML.
#pragma once
#include <string>
#include <vector>

#include "runner.hpp"

namespace conform {

std::string text_of(const Tally &, const Row &);         // a line, and more for a failure
std::string badge_of(const Tally &);                     // "conforms: NAME 1.0.0 scheduler level 10 (41 cases, 3 unsupported)"
std::string command_of(const Tally &, const Row &);      // repeats this one case
std::string json_of(const std::vector<Tally> &);
std::string junit_of(const std::vector<Tally> &);

}  // namespace conform
