// The main function of every runtime's program of the micro benchmark: its options, the case, the mode.
#pragma once
#include "modes.hpp"
#include <cstring>

namespace bench {

inline int usage(const char *self) {
  std::fprintf(stderr,
               "usage: %s [--mode time|check|metg|memory|start|idle] [--pattern P] [--workers W] [--cores C] [--n N] [--reps R]\n"
               "       [--scheduler S] [--window N] [--pump manual] [--plant unordered]\npatterns: grid:SHAPE:WIDTH",
               self);
  for (const Case &c : cases) std::fprintf(stderr, " %.*s", static_cast<int>(c.name.size()), c.name.data());
  std::fprintf(stderr, "\nshapes:");
  for (const ShapeName &s : shape_names) std::fprintf(stderr, " %.*s%s", static_cast<int>(s.name.size()), s.name.data(), s.held_out ? " (held out)" : "");
  std::fprintf(stderr, "\n");
  return 2;
}

// Exit: 0 good, 1 the check found something wrong, 2 a bad option, 3 this runtime has no such thing.
template <class B> int bench_main(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view key = argv[i];
    if (i + 1 == argc) return usage(argv[0]);
    const char *value = argv[i + 1];
    const auto number = [&] { return std::strtoull(value, nullptr, 10); };
    if (key == "--mode") o.mode = value;
    else if (key == "--pattern") o.pattern = value;
    else if (key == "--scheduler") o.scheduler = value;
    else if (key == "--pump") o.pump = value;
    else if (key == "--plant") o.plant = value;
    else if (key == "--workers") o.workers = static_cast<unsigned>(number());
    else if (key == "--cores") o.cores = static_cast<unsigned>(number());
    else if (key == "--n") o.n = number();
    else if (key == "--window") o.window = number();
    else if (key == "--reps") o.reps = static_cast<unsigned>(number());
    else return usage(argv[0]);
  }
  if (o.workers == 0 || o.cores == 0 || o.n < 8) return usage(argv[0]);
  pin(o.cores);
  if (o.mode == "memory" || o.mode == "start") {
    if constexpr (can_register<B>) return o.mode == "memory" ? memory<B>(o) : start<B>(o);
    return 3;
  }
  if (o.mode == "idle") return idle<B>(o);
  const std::optional<Case> c = find_case(o.pattern);
  if (!c) return usage(argv[0]);
  if (!supported<B>(*c, o.workers)) return 3;
  if (o.mode == "time") return time_case<B>(o, *c);
  if (o.mode == "check") return check_case<B>(o, *c);
  if (o.mode == "metg") return metg<B>(o, *c);
  return usage(argv[0]);
}

} // namespace bench
