// The double of the compiler reads this in a program's text before g++ does.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace nvrtc {

// Comments and the insides of strings become blanks; lines stay where they are.
std::string bare(std::string text);

// The names of functions behind __global__ in a source without its comments and strings, templates left out.
std::vector<std::string> kernels_in(const std::string &source);

// `extern __shared__ T name[];` has no size to be static with: it becomes a pointer to the launch's shared memory.
std::string without_dynamic_shared(std::string source);

// As it stands between the quotes of a literal.
std::string escaped(std::string_view text);

}  // namespace nvrtc
