// traits.hpp — in what the policies of this family differ, and their settings. Constant once the plugin has started.
#pragma once
#include <cstdint>

namespace dm {

enum class Order {
  kArrival,   // as they came
  kResident,  // who has most data there already
  kPriority   // by priority; among equals who has most data there
};

struct Traits {
  const char *name;
  Order order;
  bool data;      // what the data's way costs counts, and it is sent for when the decision is taken
  bool decision;  // a decision counts only the work that the task would wait for, not what it overtakes
  bool ranks;     // what hangs on a task makes it urgent, where nobody gave a priority
  bool teams = false;  // a task that a team may run goes where it ends soonest, of teams, too
};

struct Settings {
  Traits traits;
  float alpha = 1, beta = 1, gamma = 0, idle_power = 0;
  uint32_t ahead = 2;
  bool steal = true;
};

}  // namespace dm
