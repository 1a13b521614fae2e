// status.hpp — converts a status returned by a plugin's function to a valid status.
//
// Plugins return CONSORT_E_* values. Any other negative number (-77; -1 of the errno habit is E_INVAL) becomes
// CONSORT_E_INTERNAL, and the error slot names the plugin, its function and the number. [any] thread.
#pragma once
#include <consort/plugin.h>

namespace consort {

// For a status below every CONSORT_E_*: sets the error text and appends the plugin's own text.
consort_status unknown_status(consort_status s, const char *plugin, const char *function) noexcept;

inline consort_status plugin_status(consort_status s, const char *plugin, const char *function) noexcept {
  return s >= CONSORT_E_STOPPED ? s : unknown_status(s, plugin, function);
}

}  // namespace consort
