// models.hpp — models stored on this machine, for the commands about them.
#pragma once
#include <consort/model.h>

#include <string>
#include <vector>

#include "commands.hpp"

namespace tool {

struct Row {                         // figures of one size
  std::string klass, arch, impl;
  uint64_t footprint, bytes, count, outliers;
  double median, spread;
};
struct File {
  std::string path, machine, name, reason;
  uint32_t what;
  bool here;
  std::vector<Row> rows;
};


struct Curve {                       // curve.points 0: none
  std::string arch, impl;
  consort_model_curve curve;
};

bool find_models(Settings &, const std::string &name, std::vector<File> *);  // false: the reason is printed
std::vector<Curve> curves_of(const File &, uint32_t kind);
std::string model_value(uint32_t what, double);                              // with a unit
const char *model_unit(uint32_t what);

}  // namespace tool
