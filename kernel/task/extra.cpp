#include <cstdlib>
#include <cstring>

#include "task/task.hpp"

namespace consort {

bool Extra::set_name(const char *text) noexcept {
  const size_t bytes = strnlen(text, kShortName) + 1;
  if (bytes <= kShortName) {
    std::memcpy(short_name, text, bytes);
    name = short_name;
    return true;
  }
  name = long_name = strdup(text);
  return name;
}

bool Extra::make_room_after(uint32_t n) noexcept {
  if (n <= kFewAfter && !long_after) {
    after = few_after;
    return true;
  }
  auto *const room = static_cast<TaskName *>(std::realloc(long_after, n * sizeof(TaskName)));
  if (!room) return false;
  if (nafter && !long_after) std::memcpy(room, after, nafter * sizeof(TaskName));
  after = long_after = room;
  return true;
}

}  // namespace consort
