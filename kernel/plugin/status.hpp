// status.hpp — a status that a plugin's function returned, as the kernel and applications know statuses.
//
// Plugins return CONSORT_E_* values. Another negative number (-1 of the system's errno habit is E_INVAL, -77 is
// nothing) becomes CONSORT_E_INTERNAL, and the error slot names the plugin, its function and the number. [any] thread.
#pragma once
#include <consort/plugin.h>

namespace consort {

// For a status below every CONSORT_E_*: fills the error slot, keeps what the plugin said behind it.
consort_status unknown_status(consort_status s, const char *plugin, const char *function) noexcept;

inline consort_status plugin_status(consort_status s, const char *plugin, const char *function) noexcept {
  return s >= CONSORT_E_STOPPED ? s : unknown_status(s, plugin, function);
}

}  // namespace consort
