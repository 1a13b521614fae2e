// main.cpp — the `consort` command: looks at what there is on this machine.
//
// Exit status: 0 good, 1 something is wrong (said in one line on stderr), 2 wrongly called.
#include <CLI/CLI.hpp>

#include <cstdio>

#include "commands.hpp"

int main(int argc, char **argv) {
  tool::Settings settings;
  bool verbose = false, changed_only = false;
  CLI::App app{"Consort runs one task graph on unlike machines. This looks at what it would use here.", "consort"};
  app.set_version_flag("--version", std::string("consort ") + consort_version());
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--config", settings.file, "configuration file (TOML), instead of $CONSORT_CONFIG")->type_name("FILE");
  app.add_option("--set", settings.assignments,
                 "a setting, over file and environment: --set scheduler=prio --set lws.depth=64")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--log", settings.loud, "let the runtime's own messages through");

  CLI::App *plugins = app.add_subcommand("plugins", "the plugins that were found, and why some are not used");
  plugins->add_flag("-v,--verbose", verbose, "what they are and their parameters, too");
  CLI::App *config = app.add_subcommand("config", "every setting, its value and where it comes from, as TOML");
  config->add_flag("--changed", changed_only, "only those that are not at their defaults");
  CLI::App *topo = app.add_subcommand("topo", "memory spaces, execution units and links, as the drivers report them");
  CLI::App *why_not = app.add_subcommand("why-not", "why a plugin, a worker or a core is not used (status 1), or that it is (0)");
  std::string name;
  why_not->add_option("NAME", name, "a plugin, its file, a worker (cpu3), or a core of the machine (os:3)")->required();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    if (*plugins) return tool::run_plugins(settings, verbose);
    if (*config) return tool::run_config(settings, changed_only);
    if (*topo) return tool::run_topo(settings);
    if (*why_not) return tool::run_why_not(settings, name);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "consort: %s\n", e.what());
    return 1;
  }
  return 2;
}
