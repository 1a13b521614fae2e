// variable.hpp — a variable of the environment that has another value, or none, for as long as the object lives.
#pragma once
#include <cstdlib>
#include <optional>
#include <string>

namespace consort_test {

class Variable {
 public:
  Variable(const char *name, const std::string &value) : name_(name) {
    if (const char *before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;

  void set(const std::string &value) { setenv(name_, value.c_str(), 1); }
  void unset() { unsetenv(name_); }

 private:
  const char *name_;
  std::optional<std::string> before_;
};

}  // namespace consort_test
