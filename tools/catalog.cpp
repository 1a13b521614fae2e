#include "catalog.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "isolated_run.hpp"

namespace tool {
namespace {

std::string text(const char *s) { return s ? s : ""; }
std::string version(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

PluginRow row_of(const consort_plugin_row *r) {
  PluginRow p{r->kind, r->flags, r->name, r->version, r->path, r->reason, r->summary, r->license,
              version(r->host_major, r->host_minor), version(r->abi_major, r->abi_minor), r->usable != 0, {}};
  for (uint32_t i = 0; i < r->nparams; ++i) {
    const consort_param &q = r->params[i];
    p.parameters.push_back({text(q.key), text(q.type), text(q.dflt), text(q.range), text(q.help)});
  }
  return p;
}

// From child to parent: fields that each end with a zero byte. The first names what follows.
void tell_fields(const Teller &teller, std::initializer_list<std::string> fields) {
  std::string all;
  for (const std::string &f : fields) all += f.substr(0, f.find('\0')) + '\0';
  teller.tell(all);
}

void tell_plugin(void *user, const consort_plugin_row *row) {
  const Teller &teller = *static_cast<const Teller *>(user);
  const PluginRow p = row_of(row);
  tell_fields(teller, {"plugin", std::to_string(p.kind), std::to_string(p.flags), p.name, p.version, p.path, p.reason, p.summary, p.license,
                p.host_abi, p.abi, p.usable ? "1" : "0"});
  for (const Parameter &q : p.parameters) tell_fields(teller, {"parameter", q.key, q.type, q.dflt, q.range, q.help});
}

void tell_setting(void *user, const consort_config_row *r) {
  tell_fields(*static_cast<const Teller *>(user), {"setting", r->key, r->type, r->value, r->dflt, r->range, r->help, r->origin});
}

void make_lists(const Teller &teller, consort_settings s, Of of) {
  s.log_user = const_cast<Teller *>(&teller);
  s.log = [](void *user, int32_t level, const char *line) {
    tell_fields(*static_cast<const Teller *>(user), {"log", std::to_string(level), line});
  };
  void *const user = const_cast<Teller *>(&teller);
  if (of != Of::kSettings && consort_list_plugins(&s, CONSORT_LIST_LOAD, tell_plugin, user) < 0) tell_fields(teller, {"error", consort_error()});
  if (of != Of::kPlugins && consort_list_config(&s, tell_setting, user) < 0) tell_fields(teller, {"error", consort_error()});
}

// Reads what make_lists() wrote. A plugin in the child may have written, too: fields that are missing are "".
class ListReader {
 public:
  explicit ListReader(const std::string &text) : text_(text) {}
  Catalog read() {
    Catalog c;
    while (at_ < text_.size()) {
      const std::string what = next();
      if (what == "plugin") c.plugins.push_back(plugin());
      else if (what == "parameter") take_parameter(&c);
      else if (what == "setting") c.settings.push_back(setting());
      else if (what == "log") take_line(&c);
      else if (std::string error = next(); c.error.empty()) c.error = std::move(error);
    }
    return c;
  }

 private:
  std::string next() {
    if (at_ >= text_.size()) return {};
    const size_t end = std::min(text_.find('\0', at_), text_.size());
    std::string field = text_.substr(at_, end - at_);
    at_ = end + 1;
    return field;
  }
  uint32_t number() { return static_cast<uint32_t>(std::strtoul(next().c_str(), nullptr, 10)); }
  PluginRow plugin() {
    PluginRow p;
    p.kind = number(), p.flags = number();
    for (std::string *f : {&p.name, &p.version, &p.path, &p.reason, &p.summary, &p.license, &p.host_abi, &p.abi}) *f = next();
    p.usable = next() == "1";
    return p;
  }
  SettingRow setting() {
    SettingRow s;
    for (std::string *f : {&s.key, &s.type, &s.value, &s.dflt, &s.range, &s.help, &s.origin}) *f = next();
    return s;
  }
  void take_parameter(Catalog *c) {
    Parameter p;
    for (std::string *f : {&p.key, &p.type, &p.dflt, &p.range, &p.help}) *f = next();
    if (!c->plugins.empty()) c->plugins.back().parameters.push_back(std::move(p));
  }
  void take_line(Catalog *c) {
    const int32_t level = static_cast<int32_t>(number());
    c->log.push_back({level, next()});
  }

  const std::string &text_;
  size_t at_ = 0;
};

void show(const std::vector<LogLine> &log) {       // as a runtime without a sink does
  constexpr const char *names[] = {"error", "warn", "info", "debug"};
  for (const LogLine &l : log)
    std::fprintf(stderr, "consort %s: %s\n", names[std::clamp(l.level, 0, 3)], l.text.c_str());
}

Catalog invalid() {
  Catalog none;
  none.valid = false;
  return none;
}

constexpr double kSeconds = 30;                    // for lists of plugins that were examined
constexpr int kTries = 4;

}  // namespace

Catalog take_catalog(Settings &settings, Examination &examination, Of of, const std::vector<consort_setting> &extra) {
  consort_settings s;
  if (!settings.resolve(&s, extra)) return invalid();
  const consort_settings unasked = s;              // in the child that examines all, every file is accepted
  std::string text = examination.admit_for(&s, [&](const Teller &teller) { make_lists(teller, unasked, of); });
  const auto refused = [](const auto &one) { return !one.second.empty(); };
  if (std::any_of(examination.reasons().begin(), examination.reasons().end(), refused)) text.clear();
  for (int tries = 1;; ++tries) {
    Told told;
    if (text.empty()) told = ask_apart(kSeconds, [&](const Teller &teller) { make_lists(teller, s, of); });
    else told.text = std::move(text);
    if (told.ending.empty()) {
      Catalog all = ListReader(told.text).read();
      if (settings.loud) show(all.log);
      return all;
    }
    text.clear();
    if (tries == kTries || !examination.look_longer()) {
      Catalog none;
      none.error = "a plugin " + told.ending + " where all are loaded together, and none does alone; plugins = \"^NAME\" leaves one out";
      return none;
    }
  }
}

Catalog take_catalog_unloaded(Settings &settings) {
  Catalog all;
  consort_settings s;
  if (!settings.resolve(&s)) return invalid();
  if (!settings.loud) {
    s.log_user = &all;
    s.log = [](void *user, int32_t level, const char *line) { static_cast<Catalog *>(user)->log.push_back({level, line}); };
  }
  const auto take = [](void *user, const consort_plugin_row *row) { static_cast<Catalog *>(user)->plugins.push_back(row_of(row)); };
  if (consort_list_plugins(&s, 0, take, &all) < 0) all.error = consort_error();
  return all;
}

}  // namespace tool
