// examine.hpp — loads plugin files in a child process first, so that a plugin that ends its process does not end the command.
//
// Passed to a runtime or a list as consort_settings.admit: a file that ended the child, or did not return, is refused with the
// reason; all others are accepted. One thread; lives as long as the settings.
#pragma once
#include <consort/consort.h>

#include <map>
#include <string>
#include <vector>

#include "isolated_run.hpp"

namespace tool {

class Examination {
 public:
  // Examines all files that these settings find, in one child if possible; then sets settings->admit. That child also runs
  // `also`, with all files loaded. Returns its text; "": it did not end well, or no file was left to examine.
  std::string admit_for(consort_settings *settings, const Body &also = {});
  // "": it may be loaded; else "ends the process in its constructor (signal 6, SIGABRT)".
  const std::string &reason(const std::string &path);
  // After a process in which the accepted files were loaded has ended early. Each is loaded alone and observed for longer. Returns
  // whether one is refused now that was accepted before.
  bool look_longer();
  const std::map<std::string, std::string> &reasons() const { return reasons_; }

 private:
  std::string examine(std::vector<std::string> paths, const Body &also);
  bool examine_each(const std::vector<std::string> &paths, bool longer);  // whether one is refused
  std::map<std::string, std::string> reasons_;     // by path
};

}  // namespace tool
