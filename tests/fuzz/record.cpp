// Records of runs, as the report "bound" reads them, and the programs that it makes of them.
#include <cmath>
#include <stdexcept>

#include "fuzz.hpp"
#include "plugins/reports/bound/deps.hpp"
#include "plugins/reports/bound/record.hpp"

using namespace bound;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const fuzz::Copy copy({reinterpret_cast<const char *>(data), size});
  Record r;
  try {
    r = read_record(copy.data(), size);
  } catch (const std::runtime_error &e) {
    fuzz::expect(*e.what(), "a refusal has a text");
    return 0;
  }
  const Problem &p = r.problem;
  for (size_t t = 0; t < p.tasks.size(); ++t) {
    fuzz::expect(p.tasks[t].kind < p.kinds.size(), "a task has a kind");
    for (const uint32_t before : p.tasks[t].after) fuzz::expect(before < t, "a task comes after earlier ones");
    for (const uint32_t version : p.tasks[t].reads) fuzz::expect(version < p.versions.size(), "a task reads existing versions");
  }
  for (const Kind &k : p.kinds) fuzz::expect(k.ns.size() == p.groups.size(), "a kind has a time for each group");
  for (const Group &g : p.groups) fuzz::expect(p.places.empty() || g.place < p.places.size(), "a group has a place");
  fuzz::expect(r.took_ns >= 0, "a run takes no negative time");
  (void)dot_of(p);
  const double longest = longest_way_ns(p);
  for (const Level level : {Level::kArea, Level::kDeps, Level::kTransfers}) {
    const Program program = formulate(p, level, size % 2);
    (void)program.lp();
    (void)program.mps();
  }
  if (std::isfinite(longest)) {
    const Solution s = solve_deps(p, 0.002);
    fuzz::expect(!std::isnan(s.least), "a bound is a number");
  }
  return 0;
}
