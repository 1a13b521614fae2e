// The tasks of `cliffs`: what each has, which task it is compared with, and what the difference may cost.
// Owned by the process; built before the clock starts, read-only from then on. It must never know a runtime.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cliffs {

// What a task has beside its function.
struct Shape {
  std::string name, base{};         // base: the shape without the feature; "": nothing to compare with
  unsigned reads = 0, writes = 0;  // data
  unsigned value = 0;              // bytes
  bool priority = false, worker = false, named = false, done = false, id = false, after = false;

  unsigned data() const { return reads + writes; }
  // ns that the parts may cost together, on one worker: combinations add up. The id has no goal of its own.
  double goal() const {
    return 15.0 * data() + (value == 0 ? 0 : value <= 64 ? 10 : 40) + 15.0 * priority + 5.0 * named + 25.0 * worker +
           25.0 * done + 30.0 * after;
  }
  // Cache lines that go from the submitter to the worker for these parts: four accesses fill one, a value its bytes; the
  // name, the worker's queue, the callback and the predecessor's successor list one each.
  unsigned lines() const {
    return (data() + 3) / 4 + (value + 63) / 64 + priority + named + worker + done + after;
  }
};

inline constexpr unsigned slots = 64;     // task i works on the data of slot i % slots, behind task i - slots
inline constexpr unsigned max_data = 16;
inline constexpr uint64_t pool = 64;      // data that are read and never written

inline std::vector<Shape> all_shapes() {
  std::vector<Shape> s;
  const auto add = [&](Shape x) { s.push_back(std::move(x)); };
  const auto count = [](unsigned k, const char *what) { return std::to_string(k) + " " + what; };
  add({.name = "plain"});
  for (unsigned k = 1; k <= max_data; ++k) add({.name = count(k, "read"), .base = k == 1 ? "plain" : count(k - 1, "read"), .reads = k});
  for (unsigned k = 1; k <= max_data; ++k)
    add({.name = count(k, "written"), .base = k == 1 ? "plain" : count(k - 1, "written"), .writes = k});
  for (unsigned bytes : {8u, 64u, 256u}) add({.name = "value " + std::to_string(bytes), .base = "plain", .value = bytes});
  add({.name = "priority", .base = "plain", .priority = true});
  add({.name = "worker", .base = "plain", .worker = true});
  add({.name = "name", .base = "plain", .named = true});
  add({.name = "done", .base = "plain", .done = true});
  add({.name = "id", .base = "plain", .id = true});
  add({.name = "after", .base = "plain", .id = true, .after = true});
  add({.name = "value 8, priority", .base = "value 8", .value = 8, .priority = true});
  add({.name = "value 8, after", .base = "value 8", .value = 8, .id = true, .after = true});
  add({.name = "4 data", .base = "plain", .reads = 3, .writes = 1});
  for (unsigned bytes : {8u, 64u, 256u})
    add({.name = "4 data, value " + std::to_string(bytes), .base = "4 data", .reads = 3, .writes = 1, .value = bytes});
  add({.name = "4 data, priority", .base = "4 data", .reads = 3, .writes = 1, .priority = true});
  add({.name = "4 data, name", .base = "4 data", .reads = 3, .writes = 1, .named = true});
  add({.name = "4 data, done", .base = "4 data", .reads = 3, .writes = 1, .done = true});
  add({.name = "rich", .base = "plain", .reads = 5, .writes = 1, .value = 8, .priority = true, .named = true});
  add({.name = "all", .base = "plain", .reads = 5, .writes = 1, .value = 64, .priority = true, .worker = true, .named = true, .done = true,
       .id = true, .after = true});
  return s;
}

}  // namespace cliffs
