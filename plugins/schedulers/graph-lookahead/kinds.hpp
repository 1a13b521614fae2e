// kinds.hpp — the kinds of tasks that an instance has met: one codelet, one size, the same classes of units. What is
// ready of a kind waits here, ordered by priority and by what hangs on it.
//
// Owned by one instance and guarded by its lock; a kind is never given up while something of it waits. Estimates are
// asked once in a while, by the task at hand.
#pragma once
#include <cmath>

#include "../crew.hpp"
#include "../queue.hpp"

namespace lookahead {

using dm::Crew;
using dm::Node;

struct Kind {
  uint64_t footprint = 0, where = 0, bytes = 0;  // bytes: of all operands of one
  uint32_t codelet = CONSORT_NONE, seen = 0;
  float best_ns = 0;                             // on the group that is fastest; 0: not known anywhere
  uint32_t left = 0;                             // submitted, not handed out
  uint32_t nready = 0;
  dm::Queue ready;
  std::vector<float> ns;                         // by group; NaN: not known
  std::vector<float> class_ns;                   // by class, as if its units were alike; 0: none can or is known
  std::vector<uint64_t> masks;                   // by group: implementations; 0: it cannot
  std::vector<uint32_t> learning;                // by group: handed out without being known, not ended

  bool known() const noexcept { return best_ns > 0; }
  bool can(uint32_t g) const noexcept { return masks[g] != 0; }
  bool known_at(uint32_t g) const noexcept { return ns[g] > 0; }
  // One of the places where this is done about as fast as anywhere.
  bool at_home(uint32_t g) const noexcept { return ns[g] > 0 && ns[g] <= best_ns * 1.25f; }
};

// What makes tasks of one codelet alike: their footprint if they were given one, else the bytes of their data.
uint64_t size_of(const consort_task *) noexcept;

class Kinds {
 public:
  static constexpr uint32_t kMost = 256, kGroups = 64;

  Kinds(const consort_host *host, const consort_sched_host *models) : host_(host), models_(models) {
    all_.reserve(kMost);
  }
  std::vector<Kind> &all() noexcept { return all_; }
  const std::vector<Kind> &all() const noexcept { return all_; }
  Kind &operator[](uint32_t i) noexcept { return all_[i]; }

  // The place of this task's kind. May throw the first time that a kind is met.
  uint32_t of(const Crew &, const consort_task *);
  void asked_anew(const Crew &);                 // by other groups. May throw

 private:
  static constexpr uint32_t kAgain = 64;         // tasks of one kind until its times are asked for again

  void refresh(const Crew &, Kind &, const consort_task *) noexcept;
  void clear(const Crew &, Kind &);

  const consort_host *const host_;
  const consort_sched_host *const models_;
  std::vector<Kind> all_;
  uint32_t last_ = 0;
};

}  // namespace lookahead
