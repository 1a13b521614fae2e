// commands.hpp — common parts of the `consort` command: settings from the command line, tables on the terminal.
//
// The command is an ordinary application: it includes only public headers. One thread.
#pragma once
#include <consort/consort.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

// --config and --set in the form that a runtime takes. Log messages are off: the tables have the reasons instead.
class Settings {
 public:
  std::string file;
  std::vector<std::string> assignments;  // "key=value"

  // Valid as long as this object lives. Returns false with a message if an assignment has no "=".
  bool resolve(consort_settings *out, std::vector<consort_setting> extra = {});
  bool loud = false;                     // pass the log to stderr

 private:
  std::vector<std::string> keys_;
  std::vector<consort_setting> set_;
};

// Columns of the width of their widest cell, separated by two blanks; the last is not padded. Numbers are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void right(size_t column) { right_.push_back(column); }
  void add(std::vector<std::string> row);          // control characters are escaped
  bool empty() const { return rows_.size() == 1; }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the first row is the header
  std::vector<size_t> right_;
};

const char *kind_name(uint32_t kind);
// ' (did you mean "topo"?)', or "" if no name is similar.
std::string did_you_mean(const std::string &word, const std::vector<std::string> &names);
std::string bytes(uint64_t n);                  // "23.5 GiB"
int failed();                                   // prints consort_error(), returns the exit status

// json: one object on standard output instead (docs/command-json.md).
int run_plugins(Settings &, bool verbose, bool json);
struct NewPlugin {
  std::string kind, name, language, folder;  // "c" or "cpp"; "": the name's
};
int run_new(const NewPlugin &, bool json);   // creates a folder with a plugin template; throws with the reason
int run_config(Settings &, bool changed_only, bool json);
struct TopoOptions {
  std::string svg;                        // "": no picture
  bool table = false, links = false, measure = false, json = false;
};
int run_topo(Settings &, const TopoOptions &);
int run_doctor(Settings &, bool json);   // returns 1 if no runtime starts here
// operands: "KERNEL=N", the number of tiles of unknown kernels.
int run_machine_import(const std::string &file, const std::string &name, const std::string &out,
                       const std::vector<std::string> &operands, bool json = false);

struct Simulation {
  std::string machine, policy, noise, seed, trace, kernels, json;  // "": as set by the program or by default
  bool execute = false, one_process = false;
  uint32_t ranks = 0;                     // 0: the program is no job of several ranks
  std::vector<std::string> program;
};
int run_sim(const Settings &, const Simulation &);  // returns the program's status
struct RunOptions {
  uint32_t ranks = 1;
  std::string transport;                  // "": as set by the program or by default
  std::string hosts, ssh, remote;         // machines; the command that reaches them; the path of this command there
  std::string checkpoint;                 // folder; "": none
  uint32_t restarts = 0;
  bool unbound = false;
  std::vector<std::string> program;
};
int run_ranks(const Settings &, const RunOptions &);  // returns the status of the first rank that failed
struct Run {
  int status;
  bool wants_restart;                     // a rank was killed, and neither the user nor a rank asked for the end
};
Run run_on_hosts(const RunOptions &, bool may_restart);  // once, of ranks on several machines
int run_part();                                       // the ranks of a machine
int run_why_not(Settings &, const std::string &name, bool json);
int run_sched_explain(Settings &, bool json);
int run_trace_show(const std::string &path, const std::string &svg, uint32_t width, bool json);
// form: chrome, paje, csv or text
int run_trace_export(const std::string &record, const std::string &form, const std::string &out, bool json);
// kind, files: "": as in the settings
struct BoundOptions {
  std::string record, kind, seconds, lp, mps, dot;
  bool integer = false, json = false;
};
int run_bound(Settings &, const BoundOptions &);
struct ReportOptions {
  std::string record, out;                // out: an HTML file; "": text
  bool json = false;
};
int run_report(Settings &, const ReportOptions &);
int run_diff(const std::string &first, const std::string &second, bool json);
int run_why(const std::string &record, const std::string &task, bool json);
int run_model_list(Settings &, bool json);
int run_model_show(Settings &, const std::string &name, uint32_t fit, bool json);  // fit: CONSORT_MODEL_*, 0 none
int run_model_check(Settings &, bool json);
int run_model_plot(Settings &, const std::string &name, const std::string &out, uint32_t fit, bool json);
int run_model_import(Settings &, const std::string &from, const std::string &name, const std::vector<std::string> &classes,
                     bool energy, bool json = false);

struct ConformOptions {
  std::vector<std::string> files;
  std::string only, xfail, json, junit;   // "": none; "-": stdout
  int level = 1;
  uint64_t seed = 1;                      // 0: a new one each time
  unsigned jobs = 0;                      // cases at a time; 0: one for each core, at most 4
  double seconds = 0;                     // limit of a case; 0: the case's own
  double budget = 0;                      // of all cases of a plugin; 0: by the level
  bool in_process = false, verbose = false, list = false;
};
int run_conform(const Settings &, const ConformOptions &);

}  // namespace tool
