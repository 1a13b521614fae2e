// task_story.hpp — why one task ran where and when it did: its moments, what each of them waited for, what else was known.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "finding.hpp"

namespace tool {

struct TaskStory {
  // id: as in the trace ("1c0000002a"), or a codelet's name, then its run that began latest after it could have.
  // Throws with what there is instead.
  TaskStory(const Analysis &, const std::string &which);

  struct Place {                           // where it could have run instead
    uint32_t worker;
    double expected = -1;                  // ns; < 0: unknown
    uint64_t free_at = 0;                  // when its run at the time had ended; 0: it had none
  };
  struct Input {
    uint32_t datum;                        // in Trace::data
    char how;
    uint32_t writer = kNoIndex;            // the task before that changed it, in Trace::tasks
    std::vector<uint32_t> copies;          // that brought it, in Trace::copies
  };

  const Analysis &a;
  uint64_t id = 0;
  uint32_t run = kNoIndex, task = kNoIndex;   // in Trace::runs; Trace::tasks: kNoIndex without a graph
  uint32_t runs = 0;                       // of this task: more than one on a team, or after a failure
  std::optional<Trace::Decision> decision; // the last one before it began
  uint32_t last_before = kNoIndex;         // the predecessor that ended last
  uint32_t last_datum = kNoIndex;          // that orders both; kNoIndex: it was told to come after
  uint64_t ready = 0;                      // 0: unknown
  double worker_busy = 0, data = 0, rest = 0;  // ns between ready and its begin: its worker ran others; its data came; neither
  uint32_t ran_between = 0;                // runs of its worker between
  std::vector<Place> places;               // other workers that could run it, the fastest first
  std::vector<Input> inputs;

 private:
  void find(const std::string &which);
  void tell_wait();
  void tell_places();
  void tell_inputs();
};

}  // namespace tool
