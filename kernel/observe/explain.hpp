// explain.hpp — what only the application can let go of, in words: for consort_explain(), and for a stop that takes
// long. [any thread]; looks without stopping anybody.
#pragma once
#include <functional>
#include <string>

namespace consort {

struct Hand;
struct Runtime;
struct Task;

// What consort_explain() answers: of the runtime as a whole, of one task. May throw bad_alloc.
std::string describe_runtime(Runtime &);
std::string describe_task(Runtime &, uint64_t name);

std::string describe_held(Runtime &);  // a line each, "" if nothing is; may throw bad_alloc

// Of what this thread has acquired, the data that something comes after to which `is` says yes (a hold may be that
// itself), in one line; "" if none. Goes from hold to successor: what comes after a hold does not end while that is
// under way. May throw bad_alloc.
std::string describe_own_holds_before(Runtime &, Hand &, const std::function<bool(const Task &)> &is);

}  // namespace consort
