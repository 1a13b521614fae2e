// traits.hpp — differences between the policies of this family, and their settings. Constant once the plugin has started.
#pragma once
#include <cstdint>

namespace dm {

enum class Order {
  kArrival,   // by arrival
  kResident,  // least missing data first
  kPriority   // by priority, then least missing data
};

struct Traits {
  const char *name;
  Order order;
  bool data;      // transfer cost counts, and data are prefetched at the decision
  bool decision;  // a decision counts only work that the task would wait for, not work that it overtakes
  bool ranks;     // among equal priorities, ranks order tasks
  bool teams = false;  // teams are candidates too
};

struct Settings {
  Traits traits;
  float alpha = 1, beta = 1, gamma = 0, idle_power = 0;
  uint32_t ahead = 2;
  bool steal = true;
};

}  // namespace dm
