#include "kernels.hpp"

#include <algorithm>
#include <cmath>

namespace sim {

bool Curve::add(uint64_t bytes, double ns) {
  const auto b = static_cast<double>(bytes);
  const auto at = std::lower_bound(points_.begin(), points_.end(), b, [](const Point &p, double x) { return p.bytes < x; });
  if (at != points_.end() && at->bytes == b) return false;
  points_.insert(at, {b, ns});
  return true;
}

double Curve::ns(uint64_t bytes) const noexcept {
  const auto b = static_cast<double>(bytes);
  if (points_.empty() || bytes == 0) return NAN;
  auto high = std::lower_bound(points_.begin(), points_.end(), b, [](const Point &p, double x) { return p.bytes < x; });
  if (high != points_.end() && high->bytes == b) return high->ns;
  if (points_.size() == 1) return points_[0].ns * b / points_[0].bytes;
  high = std::clamp(high, points_.begin() + 1, points_.end() - 1);
  const Point &p = high[-1], &q = *high;
  return p.ns * std::pow(b / p.bytes, std::log(q.ns / p.ns) / std::log(q.bytes / p.bytes));
}

KernelTable KernelTable::read(const Table &t) {
  KernelTable k;
  k.where = t.where;
  for (const Table::Entry &e : t.entries) {
    if (e.key == "set") k.set = e.value;
    else if (e.key == "codelet") k.codelet = e.value;
    else if (e.key == "device") k.device = e.value;
    else if (e.key == "class") k.klass = e.value;
    else if (e.key == "team") {
      const double n = read_number(e.where, e.value);
      if (n < 1 || n > 65536 || n != static_cast<uint32_t>(n)) throw Bad{e.where + " = " + e.value + " is not from 1 to 65536"};
      k.team = static_cast<uint32_t>(n);
    }
    else if (!e.key.empty() && e.key[0] >= '0' && e.key[0] <= '9') {
      const uint64_t bytes = read_bytes(e.where, e.key), ns = read_time(e.where, e.value);
      if (bytes == 0 || ns == 0) throw Bad{e.where + " = \"" + e.value + "\": bytes and time must be more than 0"};
      if (!k.curve.add(bytes, static_cast<double>(ns))) throw Bad{e.where + ": this size is given twice"};
    } else {
      throw Bad{e.where + ": a kernel has set, codelet, device or class, team, and BYTES = TIME for each size"};
    }
  }
  if (k.codelet.empty()) throw Bad{t.where + ": a kernel needs a codelet, its name"};
  if (k.curve.empty()) throw Bad{t.where + ": kernel \"" + k.codelet + "\" needs a time: write 11059200 = \"2805us\""};
  if (!k.device.empty() && !k.klass.empty())
    throw Bad{t.where + ": kernel \"" + k.codelet + "\" has a device and a class: give one of them"};
  return k;
}

}  // namespace sim
