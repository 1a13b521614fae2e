// What data movement costs: rows of JSON, each beside a reference that was measured in the same run. `./run bench memory`
// calls this once for each case.
#include "machine.hpp"

#include <cstring>

int main(int argc, char **argv) {
  static constexpr struct { const char *name; void (*run)(const bench::Options &); } kCases[] = {
      {"copies", bench::copies}, {"checksum", bench::checksum}, {"chain", bench::chain}, {"overlap", bench::overlap},
      {"replacement", bench::replacement}, {"out_of_core", bench::out_of_core}};
  bench::Options o;
  std::string chosen;
  bool good = true;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--smoke") o.smoke = true, --i;
    else if (value.empty()) good = false;
    else if (key == "--case") chosen = value;
    else if (key == "--disk") o.disk = value;
    else if (key == "--tiles") o.tiles = std::atoi(value.c_str());
    else if (key == "--tile") o.tile = std::atoi(value.c_str());
    else if (key == "--reps") o.reps = std::max(1, std::atoi(value.c_str()));
    else good = false;
  }
  bool known = chosen.empty();
  for (const auto &c : kCases) known |= chosen == c.name;
  if (!good || !known) {
    std::fprintf(stderr, "usage: %s [--case NAME] [--smoke] [--disk FOLDER] [--tiles N] [--tile N] [--reps N]; cases:", argv[0]);
    for (const auto &c : kCases) std::fprintf(stderr, " %s", c.name);
    return std::fputs("\n", stderr), 2;
  }
  if (o.smoke) o.reps = 1;
  for (const auto &c : kCases)
    if (chosen.empty() || chosen == c.name) c.run(o);
}
