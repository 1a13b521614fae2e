// folder.hpp — a folder of a test's own under /tmp or elsewhere; it goes with the test.
#pragma once
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace consort_test {

class Folder {
 public:
  // name: the purpose, so that a folder that a killed test leaves behind can be attributed
  explicit Folder(const std::string &name, const std::string &in = "/tmp") : path_(in + "/consort-" + name + "-XXXXXX") {
    if (!mkdtemp(path_.data())) ADD_FAILURE() << path_ << ": " << std::strerror(errno);
  }
  ~Folder() {
    std::error_code ignored;  // it may have gone already
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;

  const std::string &path() const { return path_; }
  std::string operator/(const std::string &file) const { return path_ + "/" + file; }
  size_t files() const {  // those of folders inside, too
    size_t n = 0;
    for (const auto &e : std::filesystem::recursive_directory_iterator(path_)) n += e.is_regular_file();
    return n;
  }

 private:
  std::string path_;
};

}  // namespace consort_test
