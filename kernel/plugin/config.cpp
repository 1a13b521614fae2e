#include "plugin/config.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/auxv.h>
#include <unistd.h>

#include "base/suggestion.hpp"
#include "plugin/config_file.hpp"
#include "plugin/config_keys.hpp"
#include "plugin/config_value.hpp"

namespace consort {
namespace {

constexpr std::string_view kPrefix = "CONSORT_";

// Reserved variables that are no settings; they belong to tests and tools.
bool is_reserved(std::string_view variable) { return variable == "CONSORT_CONFIG" || variable == "CONSORT_FULL"; }

// "plugin.depth" -> "CONSORT_PLUGIN__DEPTH"
std::string variable_of(std::string_view key) {
  std::string name(kPrefix);
  for (const char c : key) {
    if (c == '.') name += "__";
    else
      name += std::isalnum(static_cast<unsigned char>(c))
                  ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                  : '_';
  }
  return name;
}

std::string lower(std::string_view s) {
  std::string out(s);
  for (char &c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool privileged() { return getauxval(AT_SECURE) != 0; }

template <class Map>
std::vector<std::string> names_of(const Map &map) {
  std::vector<std::string> names;
  for (const auto &entry : map) names.push_back(entry.first);
  return names;
}

const char *or_empty(const char *s) { return s ? s : ""; }

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// How surely the words name the key. 0: not at all. 1: the word occurs. 2: it occurs as a key, or with its value.
int speaks_of(std::string_view words, const std::string &plugin, std::string_view key, std::string_view value) {
  int surely = 0;
  for (size_t at = 0; (at = words.find(key, at)) != words.npos; at += key.size()) {
    const std::string_view before = words.substr(0, at), after = words.substr(at + key.size());
    if ((!before.empty() && is_letter(before.back())) || (!after.empty() && is_letter(after.front()))) continue;
    const bool as_key = after.starts_with(" = ") || after.starts_with("=") || before.ends_with(plugin + ".");
    const bool with_value = !value.empty() && after.find(value) != after.npos;
    surely = std::max(surely, as_key || with_value ? 2 : 1);
  }
  return surely;
}

}  // namespace

// -- loading -----------------------------------------------------------------------------------------------

Result<std::shared_ptr<Config>> Config::load(const consort_settings *settings) {
  std::shared_ptr<Config> config(new Config);
  consort_settings said{};  // fields unknown to an older caller are zero
  if (settings) {
    if (!CONSORT_HAS(settings, consort_settings, flags))
      return error(CONSORT_E_INVAL,
                   "settings: size " + std::to_string(settings->size) + " is too small: use CONSORT_SETTINGS_INIT");
    std::memcpy(&said, settings, std::min<size_t>(settings->size, sizeof said));
    char bits[16];
    std::snprintf(bits, sizeof bits, "0x%x", said.flags ? said.flags : said.reserved | said.reserved2);
    if (said.flags)
      return error(CONSORT_E_INVAL, std::string("settings: flags has ") + bits +
                                        ", which this runtime does not know: there are none yet, leave it 0");
    if (said.reserved || said.reserved2)
      return error(CONSORT_E_INVAL, std::string("settings: a reserved field has ") + bits +
                                        ": it must be 0, as CONSORT_SETTINGS_INIT makes it");
  }
  if (!privileged()) config->read_environment();
  const char *file = said.file;
  if (!file && !privileged()) file = std::getenv("CONSORT_CONFIG");
  if (file && *file)
    if (auto done = config->read_file(file); !done) return done.error();
  if (said.text) {
    auto lines = read_toml(said.text, "text");
    if (!lines) return lines.error();
    for (ConfigLine &line : *lines)
      config->text_[line.key] = {std::move(line.value), std::move(line.place), line.written};
  }
  if (auto done = config->take_settings(said); !done) return done.error();
  config->rename_old_keys();
  if (auto done = config->settle_kernel_keys(); !done) return done.error();
  return config;
}

Result<void> Config::read_file(const char *path) {
  std::string others;
  auto text = read_config_file(path, &others);
  if (!text) return text.error();
  if (!others.empty()) notes_.push_back("config file \"" + std::string(path) + "\" " + others);
  auto lines = read_toml(*text, "file " + std::string(path));
  if (!lines) return lines.error();
  for (ConfigLine &line : *lines) file_[line.key] = {std::move(line.value), std::move(line.place), line.written};
  return {};
}

// The value of an old name is used for the new one, unless the same source also gives the new one.
void Config::rename_old_keys() {
  for (const OldKey &k : old_kernel_keys()) {
    const auto note = [&](const std::string &origin) {
      notes_.push_back(origin + ": \"" + k.old_name + "\" is deprecated: write \"" + k.name + "\"" + k.hint);
    };
    for (auto *layer : {&code_, &text_, &file_}) {
      auto node = layer->extract(k.old_name);
      if (node.empty()) continue;
      note(node.mapped().origin);
      node.key() = k.name;
      layer->insert(std::move(node));
    }
    auto node = environment_.extract(variable_of(k.old_name));
    if (node.empty()) continue;
    note("environment " + node.key());
    node.key() = variable_of(k.name);
    environment_.insert(std::move(node));
  }
}

void Config::read_environment() {
  for (char **v = environ; v && *v; ++v) {
    const std::string_view variable = *v;
    const size_t equals = variable.find('=');
    if (equals == variable.npos || !variable.starts_with(kPrefix)) continue;
    const std::string_view name = variable.substr(0, equals);
    const std::string_view value = variable.substr(equals + 1);
    if (!is_reserved(name) && !value.empty()) environment_.emplace(name, value);  // an empty variable counts as unset
  }
}

Result<void> Config::take_settings(const consort_settings &said) {
  if (said.nset && !said.set)
    return error(CONSORT_E_INVAL, "settings: nset is " + std::to_string(said.nset) + " but set is NULL");
  for (uint32_t i = 0; i < said.nset; ++i) {
    const consort_setting &s = said.set[i];
    if (!s.key || !s.value)
      return error(CONSORT_E_INVAL, "settings: set[" + std::to_string(i) + "] has a NULL " + (s.key ? "value" : "key"));
    code_[s.key] = {s.value, "code", Written::kText};
  }
  return {};
}

const Config::Given *Config::given(const std::string &key) const {
  for (const auto *layer : {&code_, &text_, &file_})
    if (const auto it = layer->find(key); it != layer->end()) return &it->second;
  return nullptr;
}

// The environment has lower priority than code and higher than texts.
Result<Config::Known> Config::resolve(const std::string &key, const consort_param &p) const {
  const std::string type = or_empty(p.type), range = or_empty(p.range);
  Given value{or_empty(p.dflt), "default", Written::kText};
  if (const Given *g = given(key)) value = *g;
  if (value.origin != "code")
    if (const auto it = environment_.find(variable_of(key)); it != environment_.end())
      value = {it->second, "environment " + it->first, Written::kText};
  const bool kernels_own = key.find('.') == key.npos;
  if (auto fine = check_written(value.written, value.value, type, range, kernels_own); !fine)
    return error(CONSORT_E_INVAL, value.origin + ": \"" + key + "\" " + fine.error().text);
  auto read = read_value(value.value, type, range);
  if (!read) return error(CONSORT_E_INVAL, value.origin + ": \"" + key + "\" " + read.error().text);
  return Known{{key, type, std::move(read->text), or_empty(p.dflt), range, or_empty(p.help), value.origin},
               read->number};
}

Result<void> Config::settle_kernel_keys() {
  for (const consort_param &p : kernel_keys()) {
    auto known = resolve(p.key, p);
    if (!known) {
      std::string text = known.error().text;
      for (const std::string &note : notes_)  // the name as written is the old one
        if (note.find("write \"" + std::string(p.key) + "\"") != note.npos) text += "; " + note;
      return error(known.error().status, std::move(text));
    }
    kernel_.emplace(p.key, std::move(*known));
  }
  for (const auto *layer : {&code_, &text_, &file_})
    for (const auto &[key, given] : *layer)
      if (key.find('.') == key.npos && !kernel_.count(key))
        return error(CONSORT_E_INVAL, given.origin + ": unknown key \"" + key + "\"" +
                                          did_you_mean(key, names_of(kernel_)) +
                                          "; consort config lists what there is");
  return {};
}

// -- the kernel's keys ----------------------------------------------------------------------------------------

const Config::Known *Config::kernel_key(std::string_view key) const {
  const auto it = kernel_.find(key);
  return it == kernel_.end() ? nullptr : &it->second;
}

std::string_view Config::text(std::string_view key) const {
  const Known *k = kernel_key(key);
  return k ? std::string_view(k->entry.value) : std::string_view{};
}

int64_t Config::number(std::string_view key) const {
  const Known *k = kernel_key(key);
  return k ? k->number : 0;
}

bool Config::flag(std::string_view key) const { return number(key) != 0; }

std::vector<std::string> Config::list(std::string_view key) const { return split_list(text(key)); }

std::string Config::origin(std::string_view key) const {
  const Known *k = kernel_key(key);
  return k ? k->entry.origin : std::string{};
}

// -- the plugins' keys ----------------------------------------------------------------------------------------

// These kernel keys are defaults for all plugins that have a key of that name without a value of its own.
Result<void> Config::inherit(const std::string &plugin, const consort_param &p, Known *known) const {
  const std::string_view key = p.key;
  if (key != "workers" && key != "seed" && key != "time") return {};
  const Entry &general = kernel_key(key)->entry;
  if (general.value == general.dflt) return {};
  auto value = read_value(general.value, p.type, or_empty(p.range));
  if (!value)
    return error(CONSORT_E_INVAL,
                 general.origin + ": \"" + p.key + "\", for \"" + plugin + "\", " + value.error().text);
  known->entry.value = std::move(value->text);
  known->entry.origin = general.origin;
  return {};
}

Result<void> Config::declare(const std::string &plugin, const consort_param *params, uint32_t n) {
  const std::string prefix = plugin + ".";
  auto section = std::make_unique<Section>();
  for (uint32_t i = 0; i < n; ++i) {
    const consort_param &p = params[i];
    const std::string blame = "plugin \"" + plugin + "\" declares parameter " + std::to_string(i);
    if (!p.key || !*p.key || !p.type || !p.dflt) return error(CONSORT_E_ABI, blame + " without key, type or default");
    if (auto sane = check_type(p.type, or_empty(p.range)); !sane)
      return error(CONSORT_E_ABI, blame + ", \"" + p.key + "\": " + sane.error().text);
    if (auto fits = read_value(p.dflt, p.type, or_empty(p.range)); !fits)
      return error(CONSORT_E_ABI, blame + ", \"" + p.key + "\": its default " + fits.error().text);
    auto known = resolve(prefix + p.key, p);
    if (!known) return known.error();
    if (known->entry.origin == "default")
      if (auto done = inherit(plugin, p, &*known); !done) return done.error();
    if (!section->emplace(p.key, std::move(*known)).second)
      return error(CONSORT_E_ABI, blame + ", \"" + p.key + "\", twice");
  }

  const auto unknown = [&](const std::string &origin, const std::string &key) {
    return error(CONSORT_E_INVAL, origin + ": plugin \"" + plugin + "\" has no key \"" + key + "\"" +
                                      did_you_mean(key, names_of(*section)) + "; consort config lists what there is");
  };
  const std::lock_guard lock(mutex_);
  // Plugins of two kinds may share a name and so a section; then neither knows all its keys.
  const bool shared = std::count(known_plugins_.begin(), known_plugins_.end(), plugin) > 1;
  if (!shared) {
    for (const auto *layer : {&code_, &text_, &file_})
      for (auto it = layer->lower_bound(prefix); it != layer->end() && it->first.starts_with(prefix); ++it)
        if (const std::string key = it->first.substr(prefix.size()); !section->count(key))
          return unknown(it->second.origin, key);
    std::vector<std::string> variables;
    for (const auto &[key, known] : *section) variables.push_back(variable_of(prefix + key));
    const std::string start = variable_of(prefix);
    for (auto it = environment_.lower_bound(start); it != environment_.end() && it->first.starts_with(start); ++it)
      if (std::find(variables.begin(), variables.end(), it->first) == variables.end())
        return unknown("environment " + it->first, lower(it->first.substr(start.size())));
  }
  Section &place = sections_[plugin];
  if (shared) {
    for (auto &[key, known] : *section) place.emplace(key, std::move(known));
  } else {
    place.swap(*section);
    if (!section->empty()) retired_.push_back(std::move(section));
  }
  return {};
}

const char *Config::param(const std::string &plugin, std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto section = sections_.find(plugin);
  if (section == sections_.end()) return nullptr;
  const auto it = section->second.find(key);
  return it == section->second.end() ? nullptr : it->second.entry.value.c_str();
}

std::string Config::place_named(const std::string &plugin, std::string_view words, bool any_word) const {
  const std::lock_guard lock(mutex_);
  const auto section = sections_.find(plugin);
  if (section == sections_.end()) return {};
  std::string places;
  int most = any_word ? 1 : 2;
  for (const auto &[key, known] : section->second) {
    const Entry &e = known.entry;
    const int surely = e.origin == "default" ? 0 : speaks_of(words, plugin, key, e.value);
    if (surely < most) continue;
    if (surely > most) places.clear();
    most = surely;
    if (places.find(e.origin) == places.npos) places += (places.empty() ? "" : ", ") + e.origin;
  }
  return places;
}

void Config::know_plugins(std::vector<std::string> names) {
  const std::lock_guard lock(mutex_);
  known_plugins_ = std::move(names);
}

Result<void> Config::check_unused() const {
  const std::lock_guard lock(mutex_);
  const auto is_known = [&](const std::string &name) {
    return sections_.count(name) ||
           std::find(known_plugins_.begin(), known_plugins_.end(), name) != known_plugins_.end();
  };
  for (const auto *layer : {&code_, &text_, &file_})
    for (const auto &[key, given] : *layer) {
      const size_t dot = key.find('.');
      if (dot == key.npos || is_known(key.substr(0, dot))) continue;
      const std::string name = key.substr(0, dot);
      if (const Known *k = kernel_key(name))
        return error(CONSORT_E_INVAL, given.origin + ": \"" + name + "\" expects " + k->entry.type +
                                          ", not a section; consort config lists what there is");
      return error(CONSORT_E_INVAL, given.origin + ": key \"" + key + "\" is for a plugin \"" + name +
                                        "\", which was not found" + did_you_mean(name, known_plugins_) +
                                        "; consort plugins lists what there is");
    }
  for (const auto &[variable, value] : environment_) {
    const size_t bar = variable.find("__");
    if (bar == variable.npos) continue;
    const auto begins = [&](const std::string &name) { return variable.starts_with(variable_of(name + ".")); };
    if (std::any_of(known_plugins_.begin(), known_plugins_.end(), begins)) continue;
    if (std::any_of(sections_.begin(), sections_.end(), [&](const auto &s) { return begins(s.first); })) continue;
    const std::string name = lower(variable.substr(kPrefix.size(), bar - kPrefix.size()));
    return error(CONSORT_E_INVAL, "environment " + variable + ": is for a plugin \"" + name +
                                      "\", which was not found" + did_you_mean(name, known_plugins_) +
                                      "; consort plugins lists what there is");
  }
  return {};
}

std::vector<std::string> Config::strange_variables() const {
  std::vector<std::string> keys, strange;
  for (const auto &[key, known] : kernel_) keys.push_back(variable_of(key));
  for (const auto &[variable, value] : environment_)
    if (variable.find("__") == variable.npos && std::find(keys.begin(), keys.end(), variable) == keys.end())
      strange.push_back("environment " + variable + " is no setting" + did_you_mean(variable, keys));
  return strange;
}

std::vector<std::string> Config::warnings() const {
  std::vector<std::string> all = notes_;
  for (std::string &strange : strange_variables()) all.push_back(std::move(strange));
  return all;
}

std::vector<Config::Entry> Config::entries() const {
  std::vector<Entry> out;
  for (const consort_param &p : kernel_keys()) out.push_back(kernel_key(p.key)->entry);
  const std::lock_guard lock(mutex_);
  for (const auto &[plugin, section] : sections_)
    for (const auto &[key, known] : section) out.push_back(known.entry);
  return out;
}

}  // namespace consort
