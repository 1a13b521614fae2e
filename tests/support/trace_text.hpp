// trace_text.hpp — a trace's file in its text form: a line for each event.
#pragma once
#include <consort/shared/trace_text.hpp>
#include <gtest/gtest.h>

#include <string>

#include "read_file.hpp"

namespace consort_test {

inline std::string trace_text(const std::string &path) {
  const std::string all = read_file(path);
  std::string text, why;
  if (!consort::shared::TraceText::write(all, &text, &why)) ADD_FAILURE() << path << ": " << why;
  return text;
}

}  // namespace consort_test
