#include "environment.hpp"

#include <cctype>
#include <cstdlib>
#include <stdexcept>

namespace tool {

void set_variable(const char *variable, const std::string &value) {
  if (setenv(variable, value.c_str(), 1) != 0) throw std::runtime_error(std::string(variable) + " cannot be set");
}

void set_from(const std::string &assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw std::runtime_error("--set \"" + assignment + "\" is not of the form key=value");
  std::string variable = "CONSORT_";
  for (const char c : assignment.substr(0, equals))
    if (c == '.') variable += "__";
    else variable += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  set_variable(variable.c_str(), assignment.substr(equals + 1));
}

}  // namespace tool
