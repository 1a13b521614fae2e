// config_keys.hpp — the kernel's own settings: key, type, default, range, help.
//
// One constant table, in the format in which plugins declare their keys. [any] thread.
#pragma once
#include <consort/plugin.h>

#include <span>

namespace consort {

std::span<const consort_param> kernel_keys() noexcept;

// A former name of a key, which still works and causes a warning. hint: appended to the warning.
struct OldKey {
  const char *old_name, *name, *hint;
};
std::span<const OldKey> old_kernel_keys() noexcept;

}  // namespace consort
