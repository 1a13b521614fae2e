// plain_file.hpp — reads a file that is named on the command line, or that the command finds.
//
// Which files may be read: consort/shared/plain_file.hpp. Every reader of the command opens its files here.
#pragma once
#include <consort/shared/plain_file.hpp>

#include <stdexcept>
#include <string>

namespace tool {

constexpr uint64_t kLargestText = 64 << 20, kLargestTrace = uint64_t{4} << 30;

// Throws a text that begins with the path: "x.toml cannot be read: Permission denied".
inline std::string read_plain(const std::string &path, uint64_t most = kLargestText) {
  std::string text, why;
  if (!consort::shared::read_file(path, most, &text, &why)) throw std::runtime_error(path + " " + why);
  return text;
}

}  // namespace tool
