// An event in place of a pause: all other threads of this process sleep, so nothing more happens until this one acts.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "api/harness.hpp"

namespace consort_test {

// Threads are read one after the other, and one that was read may be woken by a later one: hence two passes.
inline bool others_sleep() {
  const auto self = std::to_string(gettid());
  for (int pass = 0; pass < 2; ++pass)
    for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task")) {
      if (thread.path().filename() == self) continue;
      std::string text;
      std::getline(std::ifstream(thread.path() / "stat"), text);
      const size_t name_end = text.rfind(") ");
      if (name_end != text.npos && text[name_end + 2] != 'S') return false;
    }
  return true;
}
// Waits until they do; false after the limit of eventually().
inline bool settled() { return eventually(others_sleep); }

}  // namespace consort_test
