// link_calibration_file.hpp — measured figures of one device's links, kept in a file between runs.
//
// One cache file (base/cache_file.hpp) per device, named by what the figures depend on: machine, driver, device,
// settings. [any] thread; owns nothing.
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

  // about: whole lines. folder "": no file is read or written.
  LinkCalibrationFile(std::string folder, const std::string &driver, std::string about);
  State read(Figures *, std::string *why) const;     // why: explains kUnusable in one line
  Result<void> write(const Figures &) const;
  const std::string &path() const noexcept { return file_.path(); }

  static std::string standard_folder() { return CacheFile::folder("links"); }

 private:
  CacheFile file_;
};

}  // namespace consort
