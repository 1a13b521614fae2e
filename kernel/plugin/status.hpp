// status.hpp — converts a status returned by a plugin's function to a valid status.
//
// Plugins return CONSORT_OK or a CONSORT_E_* value. Any other number (-77, 1; -1 of the errno habit is E_INVAL) becomes
// CONSORT_E_INTERNAL, and the error slot names the plugin, its function and the number. A function that answers 1 has set
// no result. [any] thread.
#pragma once
#include <consort/plugin.h>

namespace consort {

// For a number that is no status: sets the error text and appends the plugin's own text.
consort_status unknown_status(consort_status s, const char *plugin, const char *function) noexcept;

inline consort_status plugin_status(consort_status s, const char *plugin, const char *function) noexcept {
  return s >= CONSORT_E_STOPPED && s <= CONSORT_OK ? s : unknown_status(s, plugin, function);
}

// For the end of an operation: a positive number of a body counts as success.
inline consort_status ended_status(consort_status s, const char *plugin, const char *what) noexcept {
  return s > CONSORT_OK ? s : plugin_status(s, plugin, what);
}

}  // namespace consort
