// commands.hpp — what the parts of the `consort` command share: settings from the command line, tables on the terminal.
//
// The command is an application like any other: it includes the public headers alone. One thread.
#pragma once
#include <consort/consort.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

// What --config and --set said, in the form in which a runtime takes it. Quiet: reasons come in the tables instead.
class Settings {
 public:
  std::string file;
  std::vector<std::string> assignments;  // "key=value"

  // Good as long as this lives. Answers false and explains where an assignment has no "=".
  bool resolve(consort_settings *out, std::vector<consort_setting> extra = {});
  bool loud = false;                     // let the log through to stderr

 private:
  std::vector<std::string> keys_;
  std::vector<consort_setting> set_;
};

// Columns as wide as their widest cell, two blanks between; the last is not padded. Numbers stand to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void right(size_t column) { right_.push_back(column); }
  void add(std::vector<std::string> row);          // control characters are escaped
  bool empty() const { return rows_.size() == 1; }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the first is the head
  std::vector<size_t> right_;
};

const char *kind_name(uint32_t kind);
// ' (did you mean "topo"?)', or "" where no name is alike enough.
std::string did_you_mean(const std::string &word, const std::vector<std::string> &names);
std::string bytes(uint64_t n);                  // "23.5 GiB"
int failed();                                   // prints consort_error(), answers the exit status

// json: one object on standard output instead (docs/command-json.md).
int run_plugins(Settings &, bool verbose, bool json);
struct NewPlugin {
  std::string kind, name, language, folder;  // "c" or "cpp"; "": the name's
};
int run_new(const NewPlugin &, bool json);   // a folder with a plugin to begin with; throws with the reason
int run_config(Settings &, bool changed_only, bool json);
struct TopoOptions {
  std::string svg;                        // "": no picture
  bool table = false, links = false, measure = false, json = false;
};
int run_topo(Settings &, const TopoOptions &);
int run_doctor(Settings &, bool json);   // 1: no runtime starts here
// operands: "KERNEL=N", how many tiles a kernel works on, of those that are not known.
int run_machine_import(const std::string &file, const std::string &name, const std::string &out,
                       const std::vector<std::string> &operands, bool json = false);

struct Simulation {
  std::string machine, policy, noise, seed, trace, kernels, json;  // "": as the program or the defaults have it
  bool execute = false;
  std::vector<std::string> program;
};
int run_sim(const Settings &, const Simulation &);  // answers the program's status
int run_why_not(Settings &, const std::string &name, bool json);
int run_trace_show(const std::string &path, const std::string &svg, uint32_t width, bool json);
// kind, files: "" as the settings have it
struct BoundOptions {
  std::string record, kind, seconds, lp, mps, dot;
  bool integer = false, json = false;
};
int run_bound(Settings &, const BoundOptions &);
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
  uint64_t seed = 1;                      // 0: another one each time
  double seconds = 0;                     // limit of a case; 0: its own
  bool in_process = false, verbose = false, list = false;
};
int run_conform(const Settings &, const ConformOptions &);

}  // namespace tool
