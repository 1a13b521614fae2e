// config.hpp — what a runtime was told: settings in code > environment > TOML text > TOML file > default.
//
// Owned by the runtime, shared with its registry. Loaded once; afterwards it grows only by declare(), when a
// plugin brings its own keys. [any] thread may ask; a mutex (rank: leaf) guards what declare() adds, so nothing
// here belongs on a hot path. It never reads the environment of a privileged process, and never guesses: a
// key or a value that is not understood is an error that names the place and the nearest right one.
#pragma once
#include <consort/consort.h>

#include <cstdint>
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

  // Of a kernel key (config_keys.cpp). A key that is not declared there answers "", 0, false.
  std::string_view text(std::string_view key) const;
  int64_t number(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::vector<std::string> list(std::string_view key) const;  // elements between commas, blanks trimmed, none empty
  std::string origin(std::string_view key) const;

  // A plugin's own keys, section [plugin]. Values given for them are checked against type and range; a key given
  // in that section which is not among them is an error. Declaring again replaces.
  Result<void> declare(const std::string &plugin, const consort_param *params, uint32_t n);
  // Resolved value; the pointer is good as long as the Config. NULL: not declared.
  const char *param(const std::string &plugin, std::string_view key) const;

  // Where the key stands that a plugin speaks of in `words`, having refused its value: "file x.toml:3". "": it speaks
  // of none that was given. `any_word`: the key may stand there like any word; else as "key = " or "plugin.key".
  std::string place_named(const std::string &plugin, std::string_view words, bool any_word) const;

  // Which sections may be there: the names of all plugins found. Told once by the registry.
  void know_plugins(std::vector<std::string> names);
  // Sections that no known plugin has. (Unknown top-level keys never pass load().)
  Result<void> check_unused() const;
  // Variables that begin with CONSORT_ and mean nothing here: worth a warning, no error, as others may read them.
  std::vector<std::string> strange_variables() const;
  // All that is worth a line in the log: those, old names of keys, a file that others may write.
  std::vector<std::string> warnings() const;

  std::vector<Entry> entries() const;  // kernel keys, then plugin by plugin

 private:
  struct Given {                                // as written, and where
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
  std::map<std::string, std::string, std::less<>> environment_;   // by variable, CONSORT_… alone
  Section kernel_;                                                // fixed after load()
  std::vector<std::string> notes_;                                // warnings of load(); fixed after it

  mutable std::mutex mutex_;                                      // guards all below
  std::map<std::string, Section, std::less<>> sections_;
  std::vector<std::unique_ptr<Section>> retired_;                 // replaced declarations: their pointers stay good
  std::vector<std::string> known_plugins_;
};

}  // namespace consort
