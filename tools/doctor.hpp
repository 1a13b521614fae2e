// doctor.hpp — findings of `consort doctor`: one line each, good, worth a note, or bad.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "commands.hpp"
#include "inventory.hpp"

namespace tool {

enum class State { kGood, kNote, kBad };           // bad: programs do not run properly; exit status 1

struct Finding {
  std::string section, name, value, advice, package;  // package: Debian package that provides the missing part; "": none missing
  State state;
};

class Findings {
 public:
  void add(std::string section, std::string name, State, std::string value, std::string advice = {}, std::string package = {});
  const std::vector<Finding> &list() const { return list_; }
  bool any_bad() const;
  std::string install_line() const;                // "apt-get install a b"; "": nothing is missing

 private:
  std::vector<Finding> list_;
};

void look_at_host(Findings *);                     // cores, memory, caches (doctor_host.cpp)
void look_at_limits(Findings *);                   // limits of the process and of its control group; permissions of the system
void look_at_libraries(Findings *);                // vendors' libraries, and tools for building plugins

}  // namespace tool
