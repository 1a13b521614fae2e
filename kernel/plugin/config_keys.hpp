// config_keys.hpp — the kernel's own settings: key, type, default, range, help.
//
// One constant table, in the form in which plugins declare theirs. [any] thread.
#pragma once
#include <consort/plugin.h>

#include <span>

namespace consort {

std::span<const consort_param> kernel_keys() noexcept;

// A name that a key had before, which still works and is warned about. hint: what follows the warning.
struct OldKey {
  const char *old_name, *name, *hint;
};
std::span<const OldKey> old_kernel_keys() noexcept;

}  // namespace consort
