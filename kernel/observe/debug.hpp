// debug.hpp — the table that lets a debugger read a runtime without debug information; see debug.cpp.
#pragma once
#include <consort/plugin.h>

#include <cstdint>

#include "base/process.hpp"

namespace consort {
struct DebugWord {
  char name[28];     // the last entry's name is empty
  uint32_t offset;   // or a size or a mask, as the name says
};
}  // namespace consort

struct consort_debug_table {
  uint32_t version, reserved;
  consort_runtime *const *shells;
  uint64_t nshells;
  const consort::DebugWord *words;
};

extern "C" CONSORT_EXPORT const consort_debug_table consort_debug;
