// kernels.hpp — kernel times by size, from the tables of a machine's file.
//
// Read by init(), constant afterwards; any thread.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "machine_file.hpp"

namespace sim {

// Time by bytes of the task's data. A listed size has its time. Between two sizes a power law is fitted through both; beyond
// them the law of the two nearest continues. A single size scales proportionally.
class Curve {
 public:
  bool add(uint64_t bytes, double ns);  // false: duplicate size
  bool empty() const noexcept { return points_.empty(); }
  double ns(uint64_t bytes) const noexcept;

 private:
  struct Point { double bytes, ns; };
  std::vector<Point> points_;           // by bytes
};

// One [[kernel]] table: set, codelet, device or class (neither: all), team, and "BYTES = TIME" for each size.
struct KernelTable {
  std::string where, set, codelet, device, klass;
  uint32_t team = 1;                    // size of the team that takes these times
  Curve curve;
  static KernelTable read(const Table &);
};

}  // namespace sim
