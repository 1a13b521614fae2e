// The variables of the environment, and the names of schedulers.
#include "environment.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "instance.hpp"

extern char **environ;

namespace starpu_layer {

long environment_number(const char *name, long dflt) {
  const char *text = std::getenv(name);
  if (!text || !*text) return dflt;
  char *end;
  const long value = std::strtol(text, &end, 10);
  return *end ? dflt : value;
}

namespace {

// StarPU's policies by the name of the one that decides alike.
std::string scheduler_of(std::string_view name) {
  static constexpr struct { std::string_view theirs, ours; } table[] = {
      {"eager", "eager"},     {"prio", "prio"},     {"random", "random"},         {"lws", "lws"},
      {"ws", "ws"},           {"dm", "dm"},         {"dmda", "dmda"},             {"dmdar", "dmdar"},
      {"dmdas", "dmdas"},     {"dmdap", "dmdap"},   {"dmdasd", "dmdasd"},         {"pheft", "dmdas"},
      {"heft", "dmdas"},      {"peager", "peager"}, {"heteroprio", "heteroprio"}, {"graph_test", "graph-lookahead"},
      {"heteroprio", "heteroprio"}};
  for (const auto &row : table)
    if (row.theirs == name) return std::string(row.ours);
  if (name.starts_with("modular-")) {
    if (name.find("heft") != name.npos || name.find("dmda") != name.npos) return "dmdas";
    if (name.find("prio") != name.npos) return "prio";
    if (name.find("random") != name.npos) return "random";
    if (name.find("ws") != name.npos) return "ws";
    return "eager";
  }
  return std::string(name);  // one of Consort's own
}

bool takes_priorities(std::string_view scheduler) {
  return scheduler != "eager" && scheduler != "random" && scheduler != "ws" && scheduler != "dm" &&
         scheduler != "dmda" && scheduler != "dmdar";
}

// Says once of each variable that is set and read nowhere that it has no effect.
void warn_of_others() {
  static bool warned = false;
  static constexpr std::string_view known[] = {
      "STARPU_NCPU",  "STARPU_NCPUS",     "STARPU_RESERVE_NCPU", "STARPU_SCHED",     "STARPU_SILENT",
      "STARPU_NCUDA", "STARPU_NOPENCL",   "STARPU_NMIC",         "STARPU_NMPI_MS",   "STARPU_CALIBRATE",
      "STARPU_HOME",  "STARPU_RAND_SEED", "STARPU_MIN_PRIO",     "STARPU_MAX_PRIO",  "STARPU_LIMIT_CPU_MEM",
      "STARPU_PROFILING", "STARPU_LIMIT_MAX_SUBMITTED_TASKS", "STARPU_LIMIT_MIN_SUBMITTED_TASKS"};
  if (warned || std::getenv("STARPU_SILENT")) return;
  warned = true;
  for (char **v = environ; *v; ++v) {
    const std::string_view entry = *v, name = entry.substr(0, entry.find('='));
    if (!name.starts_with("STARPU_")) continue;
    bool found = false;
    for (std::string_view k : known) found |= k == name;
    if (!found)
      std::fprintf(stderr, "[starpu] %.*s has no effect here (docs/starpu.md)\n", static_cast<int>(name.size()),
                   name.data());
  }
}

}  // namespace

Environment::Environment(const starpu_conf &conf) {
  const bool conf_first = conf.precedence_over_environment_variables != 0;
  workers = conf.ncpus;
  if (!conf_first || workers < 0)
    workers = environment_number("STARPU_NCPU", environment_number("STARPU_NCPUS", workers));
  const char *name = std::getenv("STARPU_SCHED");
  if (conf.sched_policy_name && (conf_first || !name)) name = conf.sched_policy_name;
  if (name && *name) scheduler = scheduler_of(name);
  const bool wide = takes_priorities(scheduler);
  least_priority = static_cast<int>(environment_number("STARPU_MIN_PRIO", wide ? INT_MIN : 0));
  most_priority = static_cast<int>(environment_number("STARPU_MAX_PRIO", wide ? INT_MAX : 0));
  submitted_most = environment_number("STARPU_LIMIT_MAX_SUBMITTED_TASKS", 0);
  submitted_least = environment_number("STARPU_LIMIT_MIN_SUBMITTED_TASKS", submitted_most);
  warn_of_others();
}

}  // namespace starpu_layer
