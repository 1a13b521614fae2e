// command.hpp — the `consort` command as a user calls it, without the settings of the environment around the test.
//
// Header only, for test programs of one source file.
#pragma once
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <sys/wait.h>
#include <unistd.h>

#include "support/folder.hpp"
#include "support/read_file.hpp"

namespace consort_test {

struct ToolAnswer {
  int status = -1;
  std::string out;  // stdout, then stderr
  bool has(const std::string &part) const { return out.find(part) != out.npos; }
};

class Tools : public ::testing::Test {
 protected:
  void SetUp() override {
    for (char **v = environ; *v; ++v)
      if (std::string_view(*v).starts_with("CONSORT_"))
        unset_ += " -u " + std::string(*v, std::string_view(*v).find('='));
  }

  ToolAnswer run(const std::string &arguments, const std::string &environment = {}) const {
    const std::string error = folder_ / "stderr";
    const std::string command =
        "env" + unset_ + " " + environment + " " CONSORT_BIN_DIR "/consort " + arguments + " 2>" + error;
    ToolAnswer a;
    FILE *pipe = popen(command.c_str(), "r");
    if (!pipe) return a;
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) a.out.append(buffer, n);
    const int status = pclose(pipe);
    a.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    a.out += read_file(error);
    return a;
  }

  const Folder folder_{"tools"};
  std::string unset_;
};

}  // namespace consort_test
