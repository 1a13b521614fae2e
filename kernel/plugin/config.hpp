// config.hpp — the settings of a runtime: code > environment > TOML text > TOML file > default.
//
// Owned by the runtime, shared with its registry. Loaded once; afterwards it grows only by declare(), when a plugin
// declares its keys. [any] thread may read. A mutex (rank: leaf) guards what declare() adds, so the hot path must not
// read it. The environment of a privileged process is ignored. An unknown key or an invalid value is an error that
// names its place and the nearest valid one.
#pragma once
#include <consort/consort.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plugin/config_value.hpp"

namespace consort {

class Config {
 public:
  struct Entry {
    std::string key, type, value, dflt, range, help;
    std::string origin;  // "default", "code", "environment CONSORT_WINDOW", "file x.toml:3", "text:3"
  };

  // settings may be NULL. The file is settings->file, else $CONSORT_CONFIG, else none.
  static Result<std::shared_ptr<Config>> load(const consort_settings *settings);

  // Values of kernel keys (config_keys.cpp). A key that is not declared there yields "", 0, false.
  std::string_view text(std::string_view key) const;
  int64_t number(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::vector<std::string> list(std::string_view key) const;  // elements between commas, trimmed, without empty ones
  std::string origin(std::string_view key) const;

  // Declares a plugin's keys, section [plugin]. Given values are checked against type and range; a given key that is
  // not declared is an error. Declaring again replaces.
  Result<void> declare(const std::string &plugin, const consort_param *params, uint32_t n);
  // Returns the resolved value; the pointer lives as long as the Config. NULL: not declared.
  const char *param(const std::string &plugin, std::string_view key) const;

  // Returns the place of the setting that a plugin names in `words` after it refused a value: "file x.toml:3". Returns
  // "" if `words` name no given setting. `any_word`: the key may appear as any word; else as "key = " or "plugin.key".
  std::string place_named(const std::string &plugin, std::string_view words, bool any_word) const;

  // The names of all plugins found, which are the valid sections. Called once by the registry.
  void know_plugins(std::vector<std::string> names);
  // Fails if a section belongs to no known plugin. (load() has rejected unknown top-level keys.)
  Result<void> check_unused() const;
  // Unknown variables that begin with CONSORT_: a warning and no error, since another program may read them.
  std::vector<std::string> strange_variables() const;
  // All warnings for the log: unknown variables, old names of keys, a settings file that other users may write.
  std::vector<std::string> warnings() const;

  std::vector<Entry> entries() const;  // kernel keys, then plugin by plugin

 private:
  struct Given {                                // text and place of a given value
    std::string value, origin;
    Written written = Written::kText;
  };
  struct Known { Entry entry; int64_t number = 0; };
  using Section = std::map<std::string, Known, std::less<>>;

  Config() = default;
  Result<void> read_file(const char *path);
  Result<void> read_text(std::string_view text, const std::string &place);
  void read_environment();
  void rename_old_keys();
  Result<void> take_settings(const consort_settings &);
  Result<void> settle_kernel_keys();
  const Given *given(const std::string &key) const;
  const Known *kernel_key(std::string_view key) const;
  Result<void> inherit(const std::string &plugin, const consort_param &, Known *) const;
  Result<Known> resolve(const std::string &key, const consort_param &) const;

  std::map<std::string, Given, std::less<>> file_, text_, code_;  // by dotted key
  std::map<std::string, std::string, std::less<>> environment_;   // by variable, names with CONSORT_ alone
  Section kernel_;                                                // fixed after load()
  std::vector<std::string> notes_;                                // warnings of load(); fixed after it

  mutable std::mutex mutex_;                                      // guards the members below
  std::map<std::string, Section, std::less<>> sections_;
  std::vector<std::unique_ptr<Section>> retired_;  // replaced declarations; kept because callers hold pointers to them
  std::vector<std::string> known_plugins_;
};

}  // namespace consort
