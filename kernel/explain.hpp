// explain.hpp — what only the application can let go of, in words: for consort_explain(), and for a stop that takes long.
// [any thread]; looks without stopping anybody.
#pragma once
#include <string>

namespace consort {

struct Runtime;
std::string describe_held(Runtime &);  // a line each, "" if nothing is; may throw bad_alloc

}  // namespace consort
