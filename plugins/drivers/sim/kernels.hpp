// kernels.hpp — how long kernels take by their size, as tables of a machine's file say.
//
// Read by init(), constant afterwards; any thread.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "words.hpp"

namespace sim {

// Time by bytes of the task's data. A size that was given has its time; between two sizes a power law goes through
// both; beyond them the law of the two nearest goes on. Of a single size: in proportion to the bytes.
class Curve {
 public:
  bool add(uint64_t bytes, double ns);  // false: this size is there already
  bool empty() const noexcept { return points_.empty(); }
  double ns(uint64_t bytes) const noexcept;

 private:
  struct Point { double bytes, ns; };
  std::vector<Point> points_;           // by bytes
};

// One [[kernel]] table: set, codelet, device or class (neither: all), team, and "BYTES = TIME" for each size.
struct KernelTable {
  std::string where, set, codelet, device, klass;
  uint32_t team = 1;                    // units that it takes so long on together
  Curve curve;
  static KernelTable read(const Table &);
};

}  // namespace sim
