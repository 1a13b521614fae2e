// text_file.hpp — a file of a test's own with a text in it; it goes with the test.
#pragma once
#include <fstream>
#include <string>

#include "folder.hpp"
#include "read_file.hpp"

namespace consort_test {

class TextFile {
 public:
  explicit TextFile(const std::string &text = "") { std::ofstream(path) << text; }
  std::string text() const { return read_file(path); }

 private:
  Folder folder_{"text"};

 public:
  const std::string path = folder_ / "text.toml";
};

}  // namespace consort_test
