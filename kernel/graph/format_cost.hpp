// format_cost.hpp — what a task costs in the formats of one class of units: its conversions, and its own time there.
//
// Under the submission right. Calls the functions of models, as a policy that looks ahead does there, and no other code
// of the application.
#pragma once
#include <cstdint>

namespace consort {

struct Formats;
struct SubmissionDraft;

struct FormatCost {
  uint32_t conversions = 0;
  float ns = 0;             // of the conversions and the task, each on the fastest unit; NaN: some time is unknown
};

// Precondition: units of the class can run the draft's task.
FormatCost cost_in_class(const SubmissionDraft &, uint32_t klass) noexcept;

}  // namespace consort
