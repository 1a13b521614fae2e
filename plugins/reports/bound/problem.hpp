// problem.hpp — what was to be done, and on what: tasks of some kinds, groups of units that are alike, memories.
//
// Plain data; whoever made it owns it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bound {

inline constexpr uint32_t kNone = ~0u;

struct Group {                       // units that are alike
  std::string name;
  double units;
  uint32_t place = 0;                // memory that they compute in
};
struct Kind {                        // tasks that take the same time
  std::string name;
  uint64_t count;
  std::vector<double> ns;            // by group; NaN: it cannot run there
  bool empty = false;                // no body: it takes no time, and no unit
};
struct Task {
  uint64_t id;
  uint32_t kind;
  int32_t priority;
  std::vector<uint32_t> after;       // earlier ones, by number
  std::vector<uint32_t> reads;       // versions
  std::string where;                 // what it ran on; "": unknown
};
struct Version {                     // contents of a datum, from one write to the next
  uint32_t writer;                   // task; NONE: none that is known, or several
  uint32_t place;                    // where it was, without a writer; NONE: unknown, then nothing is known of its ways
  double bytes;
};
struct Place {                       // a memory, or several that are alike
  std::string name;
  double bytes_per_ns;               // that can come in, over all ways at once; 0: unknown
};
// Tasks that come after one another, by kind: all of that kind (each where it runs), or `links` of them (each at its
// best).
struct ChainLink { uint32_t kind; bool every; double links; };

struct Problem {
  std::vector<Group> groups;
  std::vector<Kind> kinds;
  std::vector<ChainLink> chain;      // of which somebody knows without the tasks themselves
  std::vector<Task> tasks;           // may be none: then only the kinds are known
  std::vector<Version> versions;
  std::vector<Place> places;
};

double best_ns(const Kind &);                       // on the group that is fastest; infinite: nowhere
double longest_way_ns(const Problem &);             // through the tasks, each at its best

}  // namespace bound
