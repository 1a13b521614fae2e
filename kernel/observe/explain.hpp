// explain.hpp — texts for consort_explain(), and for the log if a stop takes long: what each task waits for, and what
// only the application can release. [any thread]; stops no other thread.
#pragma once
#include <string>

namespace consort {

struct Observation;

// The answers of consort_explain(), for the runtime and for one task. May throw bad_alloc.
std::string describe_runtime(Observation &);
std::string describe_task(Observation &, uint64_t name);

// For the log if nothing moves: the runtime, and some tasks that wait for others. May throw bad_alloc.
std::string describe_standstill(Observation &);

std::string describe_held(Observation &);  // one line each, "" if nothing is held; may throw bad_alloc

}  // namespace consort
