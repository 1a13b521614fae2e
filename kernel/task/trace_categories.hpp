// trace_categories.hpp — what a trace has; each may be switched while the runtime runs. The numbers are those of
// consort/reports.h.
#pragma once
#include <consort/reports.h>

namespace consort::traced {

inline constexpr uint32_t kTasks = CONSORT_TRACE_TASKS, kCopies = CONSORT_TRACE_COPIES, kDecisions = CONSORT_TRACE_DECISIONS,
                          kWaits = CONSORT_TRACE_WAITS, kMemory = CONSORT_TRACE_MEMORY, kGraph = CONSORT_TRACE_GRAPH,
                          kAll = kTasks | kCopies | kDecisions | kWaits | kMemory | kGraph;

}  // namespace consort::traced
