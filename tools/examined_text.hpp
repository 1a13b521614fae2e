// examined_text.hpp — the text of a child that loads plugin files: each step before it begins, and what its body wrote.
//
// The plugins in that child may write into the text, or end it at any byte. So any text is read: lines that are no step are
// passed over.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace tool {

enum class Phase { kConstructor, kEntry, kLater, kDestructor };

struct Step {
  size_t file = 0;                                 // its number, below that of all files
  Phase phase = Phase::kConstructor;
};

struct ExaminedText {
  Step last;                                       // of the steps outside the body
  std::string body;                                // "": none, or it did not end
};

constexpr char kBodyMark = '\x1e';                 // before and after the text of the body
std::string written(const Step &);                 // one line
ExaminedText examined_text(std::string_view text, size_t files);

}  // namespace tool
