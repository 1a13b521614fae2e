// link_calibration_file.hpp — what was measured of one device's links, kept in a file from run to run.
//
// A kept file (base/cache_file.hpp) per device, named by what it depends on: machine, driver, device, settings. [any] thread;
// owns nothing.
#pragma once
#include <map>
#include <string>
#include <utility>

#include "base/cache_file.hpp"
#include "base/result.hpp"
#include "machine/link_benchmark.hpp"

namespace consort {

class LinkCalibrationFile {
 public:
  using Ends = std::pair<std::string, std::string>;  // names of spaces
  using Figures = std::map<Ends, LinkMeasurement>;
  using State = CacheFile::State;

  // about: lines of text. folder "": nothing is kept.
  LinkCalibrationFile(std::string folder, const std::string &driver, std::string about);
  State read(Figures *, std::string *why) const;     // why: of kUnusable, in one line
  Result<void> write(const Figures &) const;
  const std::string &path() const noexcept { return file_.path(); }

  static std::string standard_folder() { return CacheFile::folder("links"); }

 private:
  CacheFile file_;
};

}  // namespace consort
