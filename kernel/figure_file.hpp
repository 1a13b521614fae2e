// figure_file.hpp — what was measured of one device's links, kept in a file from run to run.
//
// A file of text per device, named by what it depends on: machine, driver, device, settings. It says all that in full,
// so that a file of something else is never taken for it, and ends in a sum, so that half a file is not believed.
// Replaced by a rename: who reads sees the old one or the new one. Of two that write at once the later wins. [any]
// thread; owns nothing.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "probe.hpp"
#include "result.hpp"

namespace consort {

class FigureFile {
 public:
  using Ends = std::pair<std::string, std::string>;  // names of spaces
  using Figures = std::map<Ends, LinkFigure>;
  enum class State { kAbsent, kGood, kUnusable };

  // about: lines of text. folder "": nothing is kept.
  FigureFile(std::string folder, const std::string &driver, std::string about);
  State read(Figures *, std::string *why) const;     // why: of kUnusable, in one line
  Result<void> write(const Figures &) const;
  const std::string &path() const noexcept { return path_; }

  // $XDG_CACHE_HOME/consort/links, or below ~/.cache; "": neither is known, or the process has more rights than its
  // user.
  static std::string standard_folder();

 private:
  std::string folder_, about_, path_;
};

}  // namespace consort
