// bound.cpp — the report: a run's time compared with the shortest possible one on its machine, by a linear program.
//
// Called while no task runs; keeps no state between records.
#include <consort/report.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>

#include "deps.hpp"
#include "record.hpp"

namespace bound {
namespace {

constexpr consort_param params[] = {
    {"kind", "string", "area", "area|deps|transfers",
     "constraints: units' time for all tasks; also the tasks' order; also their transfers"},
    {"integer", "bool", "false", nullptr, "tasks are not divided between units: a higher bound, which may take long to compute"},
    {"seconds", "f64", "20", "0.001..1e6", "time limit of the solver; its best bound so far is used"},
    {"lp", "string", "", nullptr, "file for the program, in CPLEX's form, for other solvers"},
    {"mps", "string", "", nullptr, "file for the program, in free MPS form"},
    {"dot", "string", "", nullptr, "file for the tasks and their predecessors, for Graphviz"},
    {"json", "bool", "false", nullptr, "one line, a JSON object, instead of sentences"},
};

std::string time_text(double ns) {
  char text[48];
  const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
  std::snprintf(text, sizeof text, "%.4g %s", ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9, unit);
  return text;
}

struct Settings {                     // state of the plugin; constant
  const consort_host *host;
  std::string kind, lp, mps, dot;
  bool integer, json;
  double seconds;
};

std::string json_text(const std::string &text) {
  std::string out = "\"";
  for (const char c : text) {
    char code[8];
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20) std::snprintf(code, sizeof code, "\\u%04x", c), out += code;
    else out += c;
  }
  return out + "\"";
}

std::string json_number(double x) {        // null: unknown
  char text[32];
  if (!std::isfinite(x)) return "null";
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

class Report {
 public:
  Report(const Settings &settings, const consort_report_sink &sink) : set_(settings), sink_(sink) {}

  void make(const char *text, size_t bytes) {
    solve_record(text, bytes);
    if (set_.json && !said_) say("{\"notes\": [" + notes() + "]}");  // no bound
  }

 private:
  void solve_record(const char *text, size_t bytes) {
    const Record r = read_record(text, bytes);
    const Problem &p = r.problem;
    const Level level = set_.kind == "deps"        ? Level::kDeps
                        : set_.kind == "transfers" ? Level::kTransfers
                                                   : Level::kArea;
    const bool whole = set_.integer;
    uint64_t tasks = 0;
    for (const Kind &k : p.kinds)
      if (!k.empty) tasks += k.count;
    if (!tasks) return line("no task ran, so there is no bound");
    if (level != Level::kArea && !r.graph)
      throw std::runtime_error("the record has no dependencies: set trace_graph = true in the runtime that "
                               "writes it, or use kind = \"area\"");
    const bool by_ways = level == Level::kDeps && !whole;  // then the program is only written to files
    Program program;
    if (!by_ways || !set_.lp.empty() || !set_.mps.empty()) program = formulate(p, level, whole);
    if (!set_.lp.empty()) write(set_.lp, program.lp());
    if (!set_.mps.empty()) write(set_.mps, program.mps());
    if (!set_.dot.empty()) write(set_.dot, dot_of(p));
    const double longest = longest_way_ns(p);
    if (std::isinf(longest) || nowhere(p)) return;
    for (const std::string &note : r.notes) line(note);

    const Solution area = solve(formulate(p, Level::kArea, whole), set_.seconds);
    if (!area.trouble.empty()) return line("there is no bound: " + area.trouble);
    Solution best = area;
    if (level != Level::kArea) best = with_order(p, &program, by_ways);
    if (!best.trouble.empty()) line(best.trouble + "; only the tasks' order counts");
    const double least = std::max({area.least * 1e6, best.least * 1e6, longest});
    if (!best.exact && best.trouble.empty())
      line("the solver was stopped after " + time_text(set_.seconds * 1e9) + " (setting bound.seconds): the bound may be higher");
    if (set_.json) return say_json(r, area, tasks, least, r.graph ? longest : NAN);
    show_kinds(r, area);
    line("no schedule of these " + std::to_string(tasks) + " tasks takes less than " + time_text(least) + " here (" + meaning(level) +
         (whole ? ", each on one unit" : "") + ")");
    line("  the units alone need " + time_text(area.least * 1e6) + " for the work" +
         (r.graph ? "; the longest chain of tasks that wait for each other takes " + time_text(longest) : ""));
    char share[96];
    std::snprintf(share, sizeof share, "%.1f %% of the best possible speed; a perfect schedule is at most %.2f times faster",
                  r.took_ns > 0 ? 100 * least / r.took_ns : 0, least > 0 ? r.took_ns / least : 0);
    line("this run took " + time_text(r.took_ns) + ": " + share);
  }
  void say(const std::string &text) {
    sink_.line(sink_.user, text.c_str());
    said_ = true;
  }
  std::string notes() const {
    std::string all;
    for (const std::string &note : kept_) all += (all.empty() ? "" : ", ") + json_text(note);
    return all;
  }
  static const char *meaning(Level level) {
    return level == Level::kDeps        ? "counted: the work, and which task waits for which"
           : level == Level::kTransfers ? "counted: the work, which task waits for which, and copies between memories"
                                        : "counted: the work alone, without order and copies";
  }
  void say_json(const Record &r, const Solution &area, uint64_t tasks, double least, double longest) {
    std::string kinds;
    each_kind(r, area, [&](const Kind &kind, uint32_t k, uint32_t g, double best) {
      kinds += std::string(kinds.empty() ? "" : ", ") + "{\"kind\": " + json_text(kind.name) + ", \"units\": " +
               json_text(r.problem.groups[g].name) + ", \"each_ns\": " + json_number(kind.ns[g]) + ", \"ran\": " +
               std::to_string(r.ran[k][g]) + ", \"best\": " + json_number(best) + "}";
    });
    const std::string text = "{\"counted\": " + json_text(set_.kind) + ", \"whole_tasks\": " + (set_.integer ? "true" : "false") +
                             ", \"tasks\": " + std::to_string(tasks) + ", \"bound_ns\": " + json_number(least) + ", \"took_ns\": " +
                             json_number(r.took_ns) + ", \"share\": " + json_number(r.took_ns > 0 ? least / r.took_ns : NAN) +
                             ", \"work_ns\": " + json_number(area.least * 1e6) + ", \"longest_chain_ns\": " + json_number(longest) +
                             ", \"kinds\": [" + kinds + "], \"notes\": [" + notes() + "]}";
    say(text);
  }
  void line(const std::string &text) {
    if (set_.json) kept_.push_back(text);
    else say(text);
  }
  void write(const std::string &path, const std::string &text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
    line(path + " is written");
  }
  // The bound by the tasks' order. For further constraints, or if half the time was not enough, the solver's bound of the
  // whole program in the remaining time, if it is higher.
  Solution with_order(const Problem &p, Program *program, bool by_ways) const {
    using Clock = std::chrono::steady_clock;
    const auto begun = Clock::now();
    const Solution order = solve_deps(p, set_.seconds / 2);
    if (!order.trouble.empty() || (by_ways && order.exact)) return order;
    if (by_ways && program->columns.empty()) *program = formulate(p, Level::kDeps, false);
    const double left = set_.seconds - std::chrono::duration<double>(Clock::now() - begun).count();
    Solution more = solve(*program, left);
    more.least = std::max(more.least, order.least);
    return more;
  }
  // Reports a kind with submitted tasks but without any known time.
  bool nowhere(const Problem &p) {
    for (const Kind &k : p.kinds)
      if (k.count && !k.empty && std::isinf(best_ns(k))) {
        line("there is no bound: the time of " + k.name + " is unknown; use a scheduler with models, or models = \"all\"");
        return true;
      }
    return false;
  }
  // Calls f(kind, its number, group of units, number of its tasks there in the area's solution) for known times.
  template <class F>
  static void each_kind(const Record &r, const Solution &area, F f) {
    const Problem &p = r.problem;
    for (uint32_t k = 0; k < p.kinds.size(); ++k) {
      if (p.kinds[k].empty || !p.kinds[k].count) continue;
      for (uint32_t g = 0; g < p.groups.size(); ++g) {
        if (std::isnan(p.kinds[k].ns[g])) continue;
        const size_t column = 1 + k * p.groups.size() + g;
        f(p.kinds[k], k, g, column < area.values.size() ? area.values[column] : NAN);
      }
    }
  }
  // Prints where tasks ran, beside the area's solution.
  void show_kinds(const Record &r, const Solution &area) {
    std::string text;
    const Kind *shown = nullptr;
    each_kind(r, area, [&](const Kind &kind, uint32_t k, uint32_t g, double best) {
      if (shown != &kind && !text.empty()) line(text), text.clear();
      char part[200];
      std::snprintf(part, sizeof part, "%s %llu ran on %s (%s each), best %.4g", shown == &kind ? ";" : (kind.name + ":").c_str(),
                    static_cast<unsigned long long>(r.ran[k][g]), r.problem.groups[g].name.c_str(), time_text(kind.ns[g]).c_str(), best);
      text += part;
      shown = &kind;
    });
    if (!text.empty()) line(text);
  }

  const Settings &set_;
  const consort_report_sink &sink_;
  std::vector<std::string> kept_;     // with json: sentences for its notes
  bool said_ = false;
};

consort_status init(const consort_host *host, void **self) {
  const auto param = [&](const char *key) -> std::string {
    const char *value = host->param(host, key);
    return value ? value : "";
  };
  try {
    *self = new Settings{host, param("kind"), param("lp"), param("mps"), param("dot"), param("integer") == "true",
                         param("json") == "true", std::strtod(param("seconds").c_str(), nullptr)};
    return CONSORT_OK;
  } catch (const std::bad_alloc &) {
    return host->fail(host, CONSORT_E_NOMEM, "out of memory for the settings");
  }
}
void fini(void *self) { delete static_cast<Settings *>(self); }

consort_status report(void *self, const char *record, uint64_t bytes, const consort_report_sink *sink) {
  const Settings &settings = *static_cast<const Settings *>(self);
  const consort_host *host = settings.host;
  try {
    Report(settings, *sink).make(record, bytes);
    return CONSORT_OK;
  } catch (const std::bad_alloc &) {
    return host->fail(host, CONSORT_E_NOMEM, "out of memory for the program");
  } catch (const std::exception &e) {
    return host->fail(host, CONSORT_E_INVAL, e.what());
  }
}

constexpr consort_report_ops ops = {sizeof(consort_report_ops), CONSORT_RO_GRAPH, report};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_REPORT,
    .abi_major = CONSORT_REPORT_MAJOR, .abi_minor = CONSORT_REPORT_MINOR,
    .flags = CONSORT_PF_VIRTUAL, .name = "bound", .version = "0.1.0",
    .summary = "a run's time compared with the shortest possible one, by a linear program", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = init, .quiesce = nullptr, .fini = fini, .get = nullptr,
};

}  // namespace
}  // namespace bound

CONSORT_MODULE(bound, REPORT, CONSORT_PF_VIRTUAL, "bound", "0.1.0", bound::plugin);
