// command_line.hpp — the command line of `consort`: definitions of all commands and options, and their parser.
//
// Help, completion, manual pages (tests/tools/man.py) and the fuzz target command_line use these definitions. Parsing
// reads no file, prints nothing and runs no command. One thread.
#pragma once
#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.hpp"

namespace tool {

class CommandLine {
 public:
  // A call that ends after parsing: help, version, or an error.
  struct Ended {
    int status;         // 0 or 2
    std::string out;    // for standard output
    std::string error;  // a sentence without an end of line; "": status is 0
  };

  CommandLine();
  CommandLine(const CommandLine &) = delete;
  CommandLine &operator=(const CommandLine &) = delete;

  // To be called once. nullopt: run one of the commands below.
  std::optional<Ended> parse(int argc, const char *const *argv);
  std::optional<Ended> help_on(const std::string &command) const;  // "": of all

  CLI::App app{"Consort runs one task graph on heterogeneous machines. This command shows the machine, its plugins and settings.", "consort"};
  CLI::App *plugins, *config, *topo, *doctor, *why_not, *sched, *sched_explain, *machine, *import, *sim, *run, *part, *model, *model_list,
      *model_show, *model_check, *model_plot, *model_import, *trace, *trace_show, *trace_export, *bound, *report, *diff, *why, *conform, *fresh, *completion, *help;
  Settings settings;
  bool verbose = false, changed_only = false, json = false, energy = false;
  std::string color, name, from, platform, to, model_name, drawing, trace_file, trace_drawing, trace_form = "chrome", second_trace, task;
  std::string kind, fresh_name, language = "cpp", folder, shell, about;
  std::vector<std::string> operands, classes, parameters;
  uint32_t curve = 0, width = 100;
  TopoOptions shown;
  Simulation simulation;
  RunOptions started;
  BoundOptions asked;
  ReportOptions reported;
  ConformOptions judged;

 private:
  Ended unknown_command(const std::string &word) const;
  Ended wrongly_called(const std::string &what, const std::string &command) const;
};

}  // namespace tool
