#include "command_line.hpp"

#include <consort/model.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>

namespace tool {
namespace {

// The first word that is neither an option nor an option's value, where a command is expected. "": none.
std::string first_word(int argc, const char *const *argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--config" || word == "--set" || word == "--color") ++i;
    else if (!word.starts_with("-")) return word;
  }
  return {};
}

// Validates options: "" or an error text. The option parser itself accepts -1 and too large numbers.
std::string fits_64_bits(const std::string &text) {
  uint64_t n = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
  return problem == std::errc{} && end == text.data() + text.size() ? "" : "\"" + text + "\" is not a whole number of 64 bits";
}
std::string is_a_time(const std::string &text) {
  double s = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), s);
  const bool fine = problem == std::errc{} && end == text.data() + text.size() && s >= 0 && s <= 1e9;
  return fine ? "" : "\"" + text + "\" is not a number of seconds";
}

const CLI::App *find_command(const CLI::App &app, const std::string &name) {
  for (const CLI::App *command : app.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

}  // namespace

CommandLine::CommandLine() {
  app.set_version_flag("--version", std::string("consort ") + consort_version());
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--config", settings.file, "configuration file (TOML), instead of $CONSORT_CONFIG")->type_name("FILE");
  app.add_option("--set", settings.assignments,
                 "a setting, over file and environment: --set scheduler=prio --set lws.depth=64")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--log", settings.loud, "show the runtime's own messages");
  app.add_option("--color", color, "coloured output: on a terminal (auto), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("auto|always|never");
  const auto data = [&](CLI::App *command) { command->add_flag("--json", json, "one JSON object, for programs"); };
  // Not an option with a value: it would take the plugin or the program behind it for the file to write.
  const auto data_or_file = [&](CLI::App *command, std::string &to) {
    command->add_flag("--json", to, "one JSON object instead of the text, for programs; --json=FILE writes it beside the text");
  };

  plugins = app.add_subcommand("plugins", "lists plugins, and why some are not used");
  plugins->add_flag("-v,--verbose", verbose, "also summaries and parameters");
  config = app.add_subcommand("config", "prints every setting, its value and origin, as TOML");
  config->add_flag("--changed", changed_only, "only settings that differ from their defaults");
  topo = app.add_subcommand("topo", "shows this machine as a tree: caches, memories, cores, devices and links");
  topo->add_flag("--table", shown.table, "memory spaces, execution units and links as tables");
  topo->add_flag("--links", shown.links, "bandwidth and latency between all spaces, measured once per machine");
  topo->add_flag("--measure", shown.measure, "with --links: measures again, ignoring stored figures");
  topo->add_option("--svg", shown.svg, "writes a picture instead; PNG if its name ends with .png")->type_name("FILE");
  doctor = app.add_subcommand("doctor", "checks this machine: features, missing packages, and the line that installs them");
  why_not = app.add_subcommand("why-not", "explains why a plugin, a worker or a core is not used (status 1), or that it is (0)");
  why_not->add_option("NAME", name, "a plugin, its file, a worker (cpu3), or a core of the machine (os:3)")->required();
  sched = app.add_subcommand("sched", "the scheduler that a runtime uses here");
  sched->require_subcommand(1);
  sched_explain = sched->add_subcommand("explain", "shows the scheduler, the one that it selects on this machine, and why");
  for (CLI::App *with_data : {plugins, config, topo, doctor, why_not, sched_explain}) data(with_data);

  machine = app.add_subcommand("machine", "machine files for simulation");
  machine->require_subcommand(1);
  import = machine->add_subcommand("import", "converts a platform of a JSON file to a machine file for the driver sim");
  import->add_option("FILE", from, "the JSON file")->required();
  import->add_option("NAME", platform, "one of its platforms")->required();
  import->add_option("-o,--output", to, "the TOML file to write; default: stdout");
  import->add_option("--operands", operands, "number of tiles of an unknown kernel: --operands geqrt=2")
      ->type_name("KERNEL=N")
      ->take_all()
      ->allow_extra_args(false);
  data(import);

  sim = app.add_subcommand("sim", "runs a program in virtual time on a described machine: sim --machine FILE -- PROGRAM ARGS");
  sim->add_option("--machine", simulation.machine, "the machine's file (TOML)")->required()->type_name("FILE");
  sim->add_option("--policy", simulation.policy, "the scheduler")->type_name("NAME");
  sim->add_option("--noise", simulation.noise, "random variation of kernel times, as a share: 0.05")->type_name("SHARE");
  sim->add_option("--seed", simulation.seed, "seed of random numbers; equal seeds give equal runs")->type_name("N");
  sim->add_option("--trace", simulation.trace, "file of what ran where and when, as the setting trace writes it: consort trace show")->type_name("FILE");
  data_or_file(sim, simulation.json);
  sim->add_option("--kernels", simulation.kernels, "the set of the machine's kernels")->type_name("SET");
  sim->add_option("-n,--ranks", simulation.ranks, "ranks of a job; the machine is each node's, its [network] between them")->type_name("N")->check(CLI::Range(1, 4096));
  sim->add_flag("--one-process", simulation.one_process, "all ranks in one process: the program gives its rank by consort_rank_main()");
  sim->add_flag("--execute", simulation.execute, "call the kernels' functions and move the bytes; default: they only take time");
  sim->add_option("PROGRAM", simulation.program, "the program and its arguments, after --")->required()->expected(-1);

  run = app.add_subcommand("run", "starts a program as several ranks, here or on other machines: run -n 4 -- PROGRAM ARGS");
  run->add_option("-n,--ranks", started.ranks, "number of processes")->required()->check(CLI::Range(1, 4096).description(""))->type_name("N");
  run->add_option("--transport", started.transport, "the transport between the ranks")->type_name("NAME");
  run->add_option("--hosts", started.hosts, "machines that ssh reaches, each with the most ranks there: a:2,b:2")->type_name("HOST[:N],...");
  run->add_option("--ssh", started.ssh, "command that runs a command on a host; default: ssh")->type_name("COMMAND");
  run->add_option("--remote-consort", started.remote, "path of the consort command there; default: as here")->type_name("PATH");
  CLI::Option *const stored = run->add_option("--checkpoint", started.checkpoint, "folder of the job's checkpoints, which is made if it is missing")->type_name("FOLDER");
  run->add_option("--restarts", started.restarts, "how often the job starts again from its last checkpoint when a rank is killed; default: 0")
      ->check(CLI::Range(0, 1000000).description(""))->type_name("N")->needs(stored);
  run->add_flag("--unbound", started.unbound, "every rank may use all cores; default: each has a share of its own");
  run->add_option("PROGRAM", started.program, "the program and its arguments, after --")->required()->expected(-1);
  part = app.add_subcommand("run-part", "the ranks of a job on this machine, for a launcher on another one")->group("");

  model = app.add_subcommand("model", "performance models stored on this machine");
  model->require_subcommand(1);
  model_list = model->add_subcommand("list", "lists stored models, and unreadable files");
  model_show = model->add_subcommand("show", "shows the model of one name, by size and kind of unit");
  model_check = model->add_subcommand("check", "checks for implausible files and sizes (status 1), or none (0)");
  model_plot = model->add_subcommand("plot", "draws time or energy by bytes of data");
  model_import = model->add_subcommand("import", "stores figures measured by another runtime: text tables, a \"performance model for\" each kind of unit");
  const std::map<std::string, uint32_t> curves = {
      {"linear", CONSORT_MODEL_LINEAR}, {"power", CONSORT_MODEL_POWER}, {"power-offset", CONSORT_MODEL_POWER_OFFSET}};
  for (CLI::App *with_curves : {model_show, model_plot})
    with_curves->add_option("--fit", curve, "fits a curve through the sizes: linear, power or power-offset")
        ->transform(CLI::CheckedTransformer(curves).description(""))
        ->type_name("linear|power|power-offset");
  for (CLI::App *with_data : {model_list, model_show, model_check, model_plot, model_import}) data(with_data);
  model_import->add_option("FILE", from, "the tables; in microseconds, energies in joules")->required();
  model_import->add_option("--name", model_name, "name of the model, the codelet's")->required()->type_name("NAME");
  model_import->add_option("--class", classes, "renames a kind of unit: --class cuda=gpu")
      ->type_name("FROM=TO")
      ->take_all()
      ->allow_extra_args(false);
  model_import->add_flag("--energy", energy, "the figures are energies");
  model_show->add_option("NAME", model_name, "name of the model, a codelet's")->required();
  model_plot->add_option("NAME", model_name, "name of the model, a codelet's")->required();
  model_plot->add_option("-o,--output", drawing, "the file to write: SVG, or PNG if its name ends with .png")->required();

  trace = app.add_subcommand("trace", "shows traces: what ran where and when");
  trace->require_subcommand(1);
  trace_show = trace->add_subcommand("show", "shows a trace (the setting trace) as tables and a line of letters for each worker, or as a drawing");
  trace_show->add_option("FILE", trace_file, "written by a runtime")->required();
  data(trace_show);
  trace_show->add_option("--svg", trace_drawing, "writes a drawing instead; PNG if its name ends with .png")->type_name("FILE");
  trace_show->add_option("--width", width, "letters of a line")->check(CLI::Range(10, 1000).description(""))->capture_default_str();

  trace_export = trace->add_subcommand("export", "writes a trace in the form of other programs");
  trace_export->add_option("FILE", trace_file, "written by a runtime")->required();
  trace_export->add_option("-o,--output", to, "the file to write")->required()->type_name("FILE");
  trace_export->add_option("--format", trace_form, "chrome: JSON for Perfetto; paje: for pajeng and ViTE; csv: a line for each task; text: a line for each event")
      ->check(CLI::IsMember({"chrome", "paje", "csv", "text"}).description(""))
      ->type_name("chrome|paje|csv|text")
      ->capture_default_str();
  data(trace_export);

  bound = app.add_subcommand("bound", "compares a recorded run with the shortest possible one on its machine");
  bound->add_option("FILE", asked.record, "a trace with the tasks in it (the settings trace and trace_graph)")->required();
  bound->add_option("--kind", asked.kind, "constraints: area, units' time; deps, also dependencies; transfers, also copies")
      ->check(CLI::IsMember({"area", "deps", "transfers"}).description(""))
      ->type_name("area|deps|transfers");
  data(bound);
  bound->add_flag("--integer", asked.integer, "tasks are not divided between units");
  bound->add_option("--seconds", asked.seconds, "time limit of the solver")->type_name("S");
  bound->add_option("--lp", asked.lp, "writes the program for other solvers, in CPLEX's form")->type_name("FILE");
  bound->add_option("--mps", asked.mps, "in free MPS form")->type_name("FILE");
  bound->add_option("--dot", asked.dot, "writes the tasks and their predecessors, for Graphviz")->type_name("FILE");

  report = app.add_subcommand("report", "says where a run's time went and what would help, as text or as one HTML file");
  report->add_option("FILE", reported.record, "a trace; with trace_graph it also says why workers were idle")->required();
  report->add_option("-o,--output", reported.out, "the page to write (HTML); it needs no network")->type_name("FILE");
  data(report);

  diff = app.add_subcommand("diff", "says what made one run longer than another: codelets, waits, links, workers");
  diff->add_option("FIRST", trace_file, "a trace")->required();
  diff->add_option("SECOND", second_trace, "a trace of another run")->required();
  data(diff);

  why = app.add_subcommand("why", "says why a task ran where and when it did");
  why->add_option("FILE", trace_file, "a trace; with trace_graph it also says what the task waited for")->required();
  why->add_option("TASK", task, "its number in the trace; or a codelet: then the run that began latest after it was ready")->required();
  data(why);

  conform = app.add_subcommand("conform", "checks plugins against the rules of docs/rules (status 1: one is violated)");
  conform->add_option("FILE", judged.files, "plugins, each a FILE.so")->type_name("");
  conform->add_option("--level", judged.level, "1 quick to 10 all")->check(CLI::Range(1, 10).description(""))->capture_default_str();
  conform->add_option("--only", judged.only, "cases whose id, name or group matches: \"S-12\", \" fault$\"")->type_name("RE");
  conform->add_option("--seed", judged.seed, "seed of random numbers; 0: a new one each time")->check(fits_64_bits)->type_name("N")->capture_default_str();
  conform->add_option("--jobs", judged.jobs, "cases that run at a time; 0: one for each core, at most 4")->check(CLI::Range(0, 64).description(""))->type_name("N")->capture_default_str();
  conform->add_option("--seconds", judged.seconds, "limit for each case, instead of its own")->check(is_a_time)->type_name("S");
  conform->add_option("--budget", judged.budget, "limit for all cases of a plugin together; default: 60 at level 1 to 3600 at level 10")->check(is_a_time)->type_name("S");
  conform->add_option("--set", parameters, "a parameter of a checked plugin: --set mine.depth=64")
      ->type_name("NAME.KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  conform->add_option("--xfail", judged.xfail, "file with lines \"CONSORT-S-12 reason\": cases that are expected to fail")->type_name("FILE");
  data_or_file(conform, judged.json);
  conform->add_option("--junit", judged.junit, "writes results as XML for build servers")->type_name("FILE");
  conform->add_flag("--in-process", judged.in_process, "runs all in one process, for a debugger: a crash ends it");
  conform->add_flag("-v,--verbose", judged.verbose, "also passed cases, and measurements");
  conform->add_flag("--list", judged.list, "lists the cases, and runs none");

  fresh = app.add_subcommand("new", "creates a folder with a working plugin template, its tests and its build");
  fresh->add_option("KIND", kind, "scheduler, driver, interface or transport")->required();
  fresh->add_option("NAME", fresh_name, "name of the plugin: letters, digits, - and _")->required();
  fresh->add_option("--lang", language, "c or cpp")->type_name("c|cpp")->capture_default_str();
  fresh->add_option("-o,--output", folder, "the folder to create; default: the plugin's name")->type_name("FOLDER");
  data(fresh);

  completion = app.add_subcommand("completion", "prints a completion script for a shell");
  completion->add_option("SHELL", shell, "bash, zsh or fish; or a kind of words, for the scripts")->required();
  help = app.add_subcommand("help", "shows this text, or the options of one command");
  help->add_option("COMMAND", about, "the command");
}

CommandLine::Ended CommandLine::unknown_command(const std::string &word) const {
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return {2, "", "\"" + word + "\" is not a command" + did_you_mean(word, names) + "; consort help lists all commands"};
}

// Converts a parser's message to the common form: "consort: …", lower case, with a reference to help.
CommandLine::Ended CommandLine::wrongly_called(const std::string &what, const std::string &command) const {
  std::string text = what;
  if (text.size() > 1 && std::isupper(static_cast<unsigned char>(text[0])) && std::islower(static_cast<unsigned char>(text[1])))
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  if (text.starts_with("A subcommand is required")) text = command.empty() ? "which command?" : command + ": which of its commands?";
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  const bool known = find_command(app, command) != nullptr;
  return {2, "", text + "; consort help" + (known ? " " + command + " shows its options" : " lists all commands")};
}

std::optional<CommandLine::Ended> CommandLine::parse(int argc, const char *const *argv) try {
  app.parse(argc, argv);
  for (std::string *to : {&simulation.json, &judged.json})
    if (*to == "true") *to = "-";  // the parser's word for a flag without a value
  return {};
} catch (const CLI::ParseError &e) {
  const std::string word = first_word(argc, argv);
  if (!word.empty() && e.get_exit_code() != 0 && !find_command(app, word)) return unknown_command(word);
  if (e.get_exit_code() != 0) return wrongly_called(e.what(), word);
  std::ostringstream out, none;
  return Ended{app.exit(e, out, none), out.str(), ""};
}

std::optional<CommandLine::Ended> CommandLine::help_on(const std::string &command) const {
  const CLI::App *found = find_command(app, command);
  if (!found && !command.empty()) return unknown_command(command);
  // App::help() would describe the given command, `help`.
  return Ended{0, found ? found->help("consort") : app.get_formatter()->make_help(&app, "consort", CLI::AppFormatMode::Normal), ""};
}

}  // namespace tool
