// catalog.hpp — lists of plugins and settings, made in a child process that loads the plugins.
//
// This process loads none, so nothing that a plugin does after it is loaded can end the command. The child that examines the
// plugins makes the lists as well. If it ends early, they are made in another, without each plugin that ends the process.
// One thread.
#pragma once
#include <consort/consort.h>

#include <string>
#include <vector>

#include "commands.hpp"
#include "examine.hpp"
#include "inventory.hpp"

namespace tool {

struct Parameter {
  std::string key, type, dflt, range, help;
};
struct PluginRow {                                 // of consort_list_plugins()
  uint32_t kind, flags;
  std::string name, version, path, reason, summary, license, host_abi, abi;
  bool usable;
  std::vector<Parameter> parameters;
};
struct SettingRow {                                // of consort_list_config()
  std::string key, type, value, dflt, range, help, origin;
};

struct Catalog {
  std::vector<PluginRow> plugins;
  std::vector<SettingRow> settings;
  std::vector<LogLine> log;
  bool valid = true;                               // false: the settings cannot be read, as standard error says
  std::string error;                               // of the first list that failed; "": none. The lists are valid all the same
};

enum class Of { kPlugins, kSettings, kBoth };
// Loads plugins, as the examination accepts them. The log goes to the catalog, with --log also to standard error.
Catalog take_catalog(Settings &, Examination &, Of, const std::vector<consort_setting> &extra = {});
// Warnings of the log, except of files that the examination refused. None where the log is on standard error.
std::vector<std::string> warnings_of(const Settings &, const Catalog &, const Examination &);
// The same list without loading a plugin: in this process.
Catalog take_catalog_unloaded(Settings &);

}  // namespace tool
