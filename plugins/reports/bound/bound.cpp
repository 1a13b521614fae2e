// bound.cpp — the report: how close a run came to the shortest that its machine allows, by a linear program.
//
// Asked while nothing runs; keeps nothing from one record to the next.
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
     "what no run can do without: units' time for all tasks; the order in which they come, too; their data's ways, too"},
    {"integer", "bool", "false", nullptr, "tasks are not divided between units: a higher bound, which may take long to find"},
    {"seconds", "f64", "20", "0.001..1e6", "that the solver may take; what it has found by then counts"},
    {"lp", "string", "", nullptr, "file for the program, in CPLEX's form, for other solvers"},
    {"mps", "string", "", nullptr, "file for the program, in free MPS form"},
    {"dot", "string", "", nullptr, "file for the tasks and what they come after, for Graphviz"},
};

std::string time_text(double ns) {
  char text[48];
  const char *unit = ns < 1e3 ? "ns" : ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s";
  std::snprintf(text, sizeof text, "%.4g %s", ns < 1e3 ? ns : ns < 1e6 ? ns / 1e3 : ns < 1e9 ? ns / 1e6 : ns / 1e9, unit);
  return text;
}

struct Settings {                     // the plugin's instance; constant
  const consort_host *host;
  std::string kind, lp, mps, dot;
  bool integer;
  double seconds;
};

class Report {
 public:
  Report(const Settings &settings, const consort_report_sink &sink) : set_(settings), sink_(sink) {}

  void make(const char *text, size_t bytes) {
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
      throw std::runtime_error("the record does not say what comes after what: the setting trace_graph = true of the runtime that "
                               "writes it; or take kind = \"area\"");
    const bool by_ways = level == Level::kDeps && !whole;  // then the program itself is for others to read
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
    if (!best.trouble.empty()) line(best.trouble + "; the tasks' order alone counts");
    const double least = std::max({area.least * 1e6, best.least * 1e6, longest});
    show_kinds(r, area);
    if (!best.exact && best.trouble.empty())
      line("the solver was stopped after " + time_text(set_.seconds * 1e9) + " (setting bound.seconds): the bound may be higher");
    line("no run takes less than " + time_text(least) + " (" + set_.kind + (whole ? ", whole tasks" : "") + "; " +
         std::to_string(tasks) + " tasks; units' time alone " + time_text(area.least * 1e6) +
         (r.graph ? ", the longest way " + time_text(longest) : "") + ")");
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.1f", r.took_ns > 0 ? 100 * least / r.took_ns : 0);
    line("this one took " + time_text(r.took_ns) + ": " + percent + " % of the bound's speed");
  }

 private:
  void line(const std::string &text) const { sink_.line(sink_.user, text.c_str()); }
  void write(const std::string &path, const std::string &text) const {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
    line(path + " is written");
  }
  // The least by the tasks' order. Where more counts than that, or half the time was not enough, what the solver makes of the
  // whole program in the time that is left; but no less.
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
  // A kind of which nothing is known anywhere, though its tasks were submitted.
  bool nowhere(const Problem &p) const {
    for (const Kind &k : p.kinds)
      if (k.count && !k.empty && std::isinf(best_ns(k))) {
        line("there is no bound: nothing is known of what " + k.name + " takes; a scheduler that asks the models, or models = \"all\", "
             "makes it known");
        return true;
      }
    return false;
  }
  // Where they ran, beside where they run in the area's solution.
  void show_kinds(const Record &r, const Solution &area) const {
    const Problem &p = r.problem;
    for (uint32_t k = 0; k < p.kinds.size(); ++k) {
      const Kind &kind = p.kinds[k];
      if (kind.empty || !kind.count) continue;
      std::string text = kind.name + ":";
      for (uint32_t g = 0; g < p.groups.size(); ++g) {
        if (std::isnan(kind.ns[g])) continue;
        char part[160];
        const size_t column = 1 + k * p.groups.size() + g;
        const double there = column < area.values.size() ? area.values[column] : NAN;
        std::snprintf(part, sizeof part, "%s %llu on %s (%s each; the bound's %.4g)", text.back() == ':' ? "" : ",",
                      static_cast<unsigned long long>(r.ran[k][g]), p.groups[g].name.c_str(), time_text(kind.ns[g]).c_str(), there);
        text += part;
      }
      line(text);
    }
  }

  const Settings &set_;
  const consort_report_sink &sink_;
};

consort_status init(const consort_host *host, void **self) {
  const auto param = [&](const char *key) -> std::string {
    const char *value = host->param(host, key);
    return value ? value : "";
  };
  try {
    *self = new Settings{host, param("kind"), param("lp"), param("mps"), param("dot"), param("integer") == "true",
                         std::strtod(param("seconds").c_str(), nullptr)};
    return CONSORT_OK;
  } catch (const std::bad_alloc &) {
    return host->fail(host, CONSORT_E_NOMEM, "no memory for its settings");
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
    return host->fail(host, CONSORT_E_NOMEM, "no memory for the program");
  } catch (const std::exception &e) {
    return host->fail(host, CONSORT_E_INVAL, e.what());
  }
}

constexpr consort_report_ops ops = {sizeof(consort_report_ops), CONSORT_RO_GRAPH, report};

constexpr consort_plugin plugin = {
    .size = sizeof(consort_plugin), .kind = CONSORT_KIND_REPORT,
    .abi_major = CONSORT_REPORT_MAJOR, .abi_minor = CONSORT_REPORT_MINOR,
    .flags = CONSORT_PF_VIRTUAL, .name = "bound", .version = "0.1.0",
    .summary = "how close a run came to the shortest that its machine allows, by a linear program", .license = "Apache-2.0",
    .params = params, .nparams = sizeof params / sizeof *params, .reserved = 0, .ops = &ops,
    .init = init, .quiesce = nullptr, .fini = fini, .get = nullptr,
};

}  // namespace
}  // namespace bound

CONSORT_MODULE(bound, REPORT, CONSORT_PF_VIRTUAL, "bound", "0.1.0", bound::plugin);
