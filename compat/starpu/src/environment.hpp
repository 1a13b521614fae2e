// environment.hpp — what starpu_conf and the environment's variables say about the start.
#pragma once
#include <starpu.h>

#include <string>

namespace starpu_layer {

struct Environment {
  explicit Environment(const starpu_conf &conf);
  long workers = -1;      // -1: one for each core
  std::string scheduler;  // of Consort; empty: its default
  int least_priority, most_priority;
  int64_t submitted_most = 0, submitted_least = 0;
};

}  // namespace starpu_layer
