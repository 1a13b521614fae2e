// plain_file.hpp — refuses what is no plain file before it is opened: a pipe would hang its reader, a device never ends.
#pragma once
#include <sys/stat.h>

#include <stdexcept>
#include <string>

namespace tool {

// Nothing where the path leads nowhere: its reader says so.
inline void must_be_plain(const std::string &path) {
  struct stat about;
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
    throw std::runtime_error("cannot read " + path + ": " + (S_ISDIR(about.st_mode) ? "it is a folder" : "it is no plain file"));
}

}  // namespace tool
