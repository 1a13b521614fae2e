// export.hpp — a trace in the forms of other programs: `consort trace export`.
#pragma once
#include <string>

#include "history.hpp"
#include "idle.hpp"

namespace tool {

// JSON of the Trace Event Format, for Perfetto and chrome://tracing: tasks, copies, counters, and dependences as flows.
std::string chrome_of(const History &, const Idle &);
// Paje's text, for pajeng, ViTE and others: states of workers and links, copies as links between memories, variables.
std::string paje_of(const History &, const Idle &);
// A line for each run of a task, with its moments (RFC 4180).
std::string csv_of(const History &);

}  // namespace tool
