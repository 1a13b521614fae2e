// explain.hpp — what only the application can let go of, in words: for consort_explain(), and for a stop that takes
// long. [any thread]; looks without stopping anybody.
#pragma once
#include <string>

namespace consort {

struct Observation;

// What consort_explain() answers: of the runtime as a whole, of one task. May throw bad_alloc.
std::string describe_runtime(Observation &);
std::string describe_task(Observation &, uint64_t name);

std::string describe_held(Observation &);  // a line each, "" if nothing is; may throw bad_alloc

}  // namespace consort
