// A program in CUDA C, and how the double of the compiler makes a host image of it with g++.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace nvrtc {

struct Program {
  std::string source, name, log, image;
  std::vector<std::pair<std::string, std::string>> headers;  // by their names
  std::vector<std::string> expressions;
  std::map<std::string, std::string> lowered;
  bool compiled = false;
};

// 0, or the result of nvrtcCompileProgram; the log says why.
int compile(Program &program, const std::vector<std::string> &options);

}  // namespace nvrtc
