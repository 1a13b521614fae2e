// read_file.hpp — the contents of a file, byte by byte; empty if it cannot be read.
#pragma once
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace consort_test {

inline std::string read_file(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace consort_test
