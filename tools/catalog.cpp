#include "catalog.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "catalog_text.hpp"
#include "isolated_run.hpp"
#include "terminal.hpp"

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

void tell_plugin(void *user, const consort_plugin_row *row) { static_cast<const Teller *>(user)->tell(written(row_of(row))); }

void tell_setting(void *user, const consort_config_row *r) {
  static_cast<const Teller *>(user)->tell(written(SettingRow{r->key, r->type, r->value, r->dflt, r->range, r->help, r->origin}));
}

void make_lists(const Teller &teller, consort_settings s, Of of) {
  s.log_user = const_cast<Teller *>(&teller);
  s.log = [](void *user, int32_t level, const char *line) {
    static_cast<const Teller *>(user)->tell(written(LogLine{level, line}));
  };
  void *const user = const_cast<Teller *>(&teller);
  if (of != Of::kSettings && consort_list_plugins(&s, CONSORT_LIST_LOAD, tell_plugin, user) < 0) teller.tell(written_error(consort_error()));
  if (of != Of::kPlugins && consort_list_config(&s, tell_setting, user) < 0) teller.tell(written_error(consort_error()));
}

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
      Catalog all = catalog_of(told.text);
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

std::vector<std::string> warnings_of(const Settings &settings, const Catalog &found, const Examination &examination) {
  std::vector<std::string> warnings;
  if (settings.loud) return warnings;
  for (const LogLine &l : found.log)
    if (l.level == 1) warnings.push_back(l.text);
  for (const auto &[path, why] : examination.reasons())
    if (!why.empty()) std::erase(warnings, printable(path + " " + why));
  return warnings;
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
