// problem.hpp — the tasks of a run by kind, groups of like units, memories.
//
// Plain data, owned by its creator.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bound {

inline constexpr uint32_t kNone = ~0u;

struct Group {                       // like units
  std::string name;
  double units;
  uint32_t place = 0;                // memory that they use
};
struct Kind {                        // tasks with equal times
  std::string name;
  uint64_t count;
  std::vector<double> ns;            // by group; NaN: not eligible
  bool empty = false;                // no body: no time, no unit
};
struct Task {
  uint64_t id;
  uint32_t kind;
  int32_t priority;
  std::vector<uint32_t> after;       // predecessors, by number
  std::vector<uint32_t> reads;       // versions
  std::string where;                 // the unit that ran it; "": unknown
};
struct Version {                     // contents of a datum, from one write to the next
  uint32_t writer;                   // task; NONE: unknown, or several
  uint32_t place;                    // initial place without a writer; NONE: unknown, no transfers counted
  double bytes;
};
struct Place {                       // a memory, or several like ones
  std::string name;
  double bytes_per_ns;               // total rate of all links into it; 0: unknown
};
// Chain of tasks by kind: all tasks of the kind (each where it runs), or `links` of them (each at its best
// time).
struct ChainLink { uint32_t kind; bool every; double links; };

struct Problem {
  std::vector<Group> groups;
  std::vector<Kind> kinds;
  std::vector<ChainLink> chain;      // known chain, without the tasks themselves
  std::vector<Task> tasks;           // may be empty: then only the kinds are known
  std::vector<Version> versions;
  std::vector<Place> places;
};

double best_ns(const Kind &);                       // on the fastest group; infinite: not eligible
double longest_way_ns(const Problem &);             // longest path, each task at its best time

}  // namespace bound
