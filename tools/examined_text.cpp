#include "examined_text.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace tool {
namespace {

constexpr std::string_view kPhases[] = {"constructor", "entry", "later", "destructor"};

// False: the line is no step.
bool read_step(std::string_view line, size_t files, Step *step) {
  size_t file;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), file);
  const auto at = static_cast<size_t>(end - line.data());
  if (error != std::errc() || file >= files || at == line.size() || line[at] != ' ') return false;
  const auto *const phase = std::find(std::begin(kPhases), std::end(kPhases), line.substr(at + 1));
  if (phase == std::end(kPhases)) return false;
  *step = {file, static_cast<Phase>(phase - std::begin(kPhases))};
  return true;
}

}  // namespace

std::string written(const Step &step) { return std::to_string(step.file) + " " + std::string(kPhases[static_cast<size_t>(step.phase)]) + "\n"; }

ExaminedText examined_text(std::string_view text, size_t files) {
  ExaminedText all;
  const auto read_steps = [&](std::string_view lines) {
    for (size_t end; (end = lines.find('\n')) != lines.npos; lines.remove_prefix(end + 1)) (void)read_step(lines.substr(0, end), files, &all.last);
  };
  const size_t from = text.find(kBodyMark), to = text.rfind(kBodyMark);
  read_steps(text.substr(0, from));
  if (from < to) {                                 // both are there
    all.body = text.substr(from + 1, to - from - 1);
    read_steps(text.substr(to + 1));
  }
  return all;
}

}  // namespace tool
