// main.cpp — the `consort` command: shows the machine, its plugins and settings.
//
// Exit status: 0 success, 1 a problem (one line on stderr), 2 wrong usage.
#include <cstdio>
#include <exception>

#include "command_line.hpp"
#include "completion.hpp"
#include "terminal.hpp"

namespace {

int end(const tool::CommandLine::Ended &e) {
  std::fputs(e.out.c_str(), stdout);
  return e.error.empty() ? e.status : tool::complain(e.error, e.status);
}

int run(tool::CommandLine &c) {
  if (*c.help) return end(*c.help_on(c.about));
  if (*c.completion) return tool::run_completion(c.settings, c.app, c.shell);
  if (*c.doctor) return tool::run_doctor(c.settings, c.json);
  if (*c.plugins) return tool::run_plugins(c.settings, c.verbose, c.json);
  if (*c.fresh) return tool::run_new({c.kind, c.fresh_name, c.language, c.folder}, c.json);
  if (*c.config) return tool::run_config(c.settings, c.changed_only, c.json);
  if (*c.topo) return c.shown.json = c.json, tool::run_topo(c.settings, c.shown);
  if (*c.sim) return tool::run_sim(c.settings, c.simulation);
  if (*c.part) return tool::run_part();
  if (*c.run) return tool::run_ranks(c.settings, c.started);
  if (*c.import) return tool::run_machine_import(c.from, c.platform, c.to, c.operands, c.json);
  if (*c.trace_show) return tool::run_trace_show(c.trace_file, c.trace_drawing, c.width, c.json);
  if (*c.trace_export) return tool::run_trace_export(c.trace_file, c.trace_form, c.to, c.json);
  if (*c.bound) return c.asked.json = c.json, tool::run_bound(c.settings, c.asked);
  if (*c.report) return c.reported.json = c.json, tool::run_report(c.settings, c.reported);
  if (*c.diff) return tool::run_diff(c.trace_file, c.second_trace, c.json);
  if (*c.why) return tool::run_why(c.trace_file, c.task, c.json);
  if (*c.model_list) return tool::run_model_list(c.settings, c.json);
  if (*c.model_show) return tool::run_model_show(c.settings, c.model_name, c.curve, c.json);
  if (*c.model_check) return tool::run_model_check(c.settings, c.json);
  if (*c.model_plot) return tool::run_model_plot(c.settings, c.model_name, c.drawing, c.curve, c.json);
  if (*c.model_import) return tool::run_model_import(c.settings, c.from, c.model_name, c.classes, c.energy, c.json);
  if (*c.conform) {
    if (c.judged.files.empty() && !c.judged.list) return tool::complain("conform checks FILE.so: give one", 2);
    c.settings.assignments.insert(c.settings.assignments.end(), c.parameters.begin(), c.parameters.end());
    return tool::run_conform(c.settings, c.judged);
  }
  if (*c.sched_explain) return tool::run_sched_explain(c.settings, c.json);
  if (*c.why_not) return tool::run_why_not(c.settings, c.name, c.json);
  return 2;
}

}  // namespace

int main(int argc, char **argv) try {
  tool::CommandLine line;
  const auto ended = line.parse(argc, argv);
  tool::choose_color(line.color);
  return ended ? end(*ended) : run(line);
} catch (const std::exception &e) {
  return tool::complain(e.what());
}
