// examine.hpp — loads plugin files in a child process first, so that a plugin that ends its process does not end the command.
//
// Passed to a runtime or a list as consort_settings.admit: a file that ended the child, or did not return, is refused with the
// reason; all others are accepted. One thread; lives as long as the settings.
#pragma once
#include <consort/consort.h>

#include <map>
#include <string>
#include <vector>

namespace tool {

class Examination {
 public:
  // Examines all files that these settings find, in one child if possible; then sets settings->admit.
  void admit_for(consort_settings *settings);
  // "": it may be loaded; else "ends the process in its constructor (signal 6, SIGABRT)".
  const std::string &reason(const std::string &path);
  const std::map<std::string, std::string> &reasons() const { return reasons_; }

 private:
  void examine(const std::vector<std::string> &paths);
  std::map<std::string, std::string> reasons_;     // by path
};

}  // namespace tool
