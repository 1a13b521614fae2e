#include "plugin/registry.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/last_error.hpp"
#include "base/suggestion.hpp"
#include "plugin/default_devices.hpp"
#include "plugin/loader.hpp"
#include "plugin/manifest.hpp"
#include "plugin/registry_parts.hpp"
#include "plugin/status.hpp"

namespace consort {
namespace {

constexpr uint64_t kTimeToBeQuiet = 5'000'000'000;  // ns that a plugin has to become quiet before fini()
constexpr uint32_t kMostPerModule = 64;

}  // namespace

const char *kind_name(uint32_t kind) noexcept {
  constexpr const char *names[] = {"", "driver", "interface", "scheduler", "transport", "report", "layer"};
  return kind < std::size(names) ? names[kind] : "";
}

Result<const consort_module *> ask_module(consort_entry_fn *entry, const consort_host *host, const std::string &label) {
  clear_error();
  const consort_module *module = nullptr;
  const consort_status status = guarded(label, "consort_plugin_entry", [&] { return module = entry(host), CONSORT_OK; });
  if (status < 0) return error(status, error_text());
  if (!module) return error(CONSORT_E_ABI, label + " gives no plugins: " + words(CONSORT_E_ABI));
  if (!CONSORT_HAS(module, consort_module, plugins) || module->nplugins == 0 || module->nplugins > kMostPerModule ||
      !module->plugins)
    return error(
        CONSORT_E_ABI,
        label + " answers its entry with a damaged list of plugins: write CONSORT_MODULE(...) instead of an own one");
  return module;
}

Registry::Registry() = default;

// Ends plugins in the reverse order of loading. A plugin that does not become quiet keeps its memory: fini() while its
// threads run would be worse than a leak.
Registry::~Registry() {
  // threads of a plugin may still be inside the layers: these are asked to become quiet, and not ended
  bool stranded = false;
  for (auto it = live_.rbegin(); it != live_.rend(); ++it) {
    Live &live = **it;
    if (!live.started) continue;
    const consort_plugin &m = live.manifest.plugin;
    const std::string &label = found_[live.index].name;
    void *const self = live.plugin.self;
    clear_error();
    const consort_status quiet = guarded(
        label, "quiesce", [&] {
          return plugin_status(m.quiesce(self, live.host->table()->now(live.host->table()) + kTimeToBeQuiet), label.c_str(),
                               "quiesce()");
        });
    if (quiet < 0) {
      try {
        log_.write(kLogError, std::string(kind_name(m.kind)) + " \"" + label +
                                  "\" does not become quiet and is left as it is: " + words(quiet));
      } catch (...) {  // no memory for the log line
      }
      live.strand();
      stranded |= !layers_.empty();
    } else if (m.kind == CONSORT_KIND_LAYER && stranded) {
      live.strand();
    } else {
      (void)guarded(label, "fini", [&] { return m.fini(self), CONSORT_OK; });
    }
  }
  while (!live_.empty()) live_.pop_back();
}

Result<std::unique_ptr<Registry>> Registry::open(std::shared_ptr<Config> config, const HostHooks &hooks, LogFn log,
                                                 void *log_user, consort_entry_fn *const *modules, uint32_t nmodules,
                                                 Admission admission) {
  std::unique_ptr<Registry> r(new Registry);
  r->config_ = std::move(config);
  r->hooks_ = hooks;
  r->log_ = {log, log_user, log_level(r->config_->text("log"))};
  for (const std::string &warning : r->config_->warnings()) r->log_.write(kLogWarn, warning);
  Finder finder(*r->config_, r->log_, admission);
  if (nmodules && !modules)
    return error(CONSORT_E_INVAL, "settings: nmodules is " + std::to_string(nmodules) + " but modules is NULL");
  for (uint32_t i = 0; i < nmodules; ++i)
    if (auto done = finder.add_module(modules[i], i); !done) return done.error();
  finder.add_files();
  r->selection_ = finder.choose();
  finder.take(&r->found_, &r->sources_);
  std::vector<std::string> names;
  for (size_t i = 0; i < r->found_.size(); ++i) {
    const Found &f = r->found_[i];
    const auto same = [&](const Found &other) { return other.name == f.name && other.kind == f.kind; };
    if (f.kind && std::find_if(r->found_.begin(), r->found_.begin() + static_cast<ptrdiff_t>(i), same) ==
                      r->found_.begin() + static_cast<ptrdiff_t>(i))
      names.push_back(f.name);
  }
  r->config_->know_plugins(std::move(names));
  return r;
}

Result<void> Registry::check_choices() const {
  if (!selection_) return selection_.error();
  return config_->check_unused();
}

Result<void> Registry::check_names() const {
  const auto check = [&](uint32_t kind, const char *key, std::string_view name) -> Result<void> {
    if (config_->origin(key) == "default") return {};
    if (auto index = look_up(kind, name); !index)
      return error(index.error().status, config_->origin(key) + ": " + index.error().text);
    return {};
  };
  if (auto fine = check(CONSORT_KIND_SCHEDULER, "scheduler", config_->text("scheduler")); !fine) return fine;
  for (const std::string &name : config_->list("layers"))
    if (auto fine = check(CONSORT_KIND_LAYER, "layers", name); !fine) return fine;
  for (const std::string &word : config_->list("drivers"))
    if (word != "*" && word[0] != '^')
      if (auto fine = check(CONSORT_KIND_DRIVER, "drivers", word); !fine) return fine;
  return {};
}

Result<size_t> Registry::look_up(uint32_t kind, std::string_view name) const {
  const Found *refused = nullptr;
  std::vector<std::string> usable;
  for (size_t i = 0; i < found_.size(); ++i) {
    const Found &f = found_[i];
    if (f.kind != kind) continue;
    if (f.usable && f.name == name) return i;
    if (f.usable) usable.push_back(f.name);
    else if (f.name == name) refused = &f;
  }
  const std::string label = std::string(*kind_name(kind) ? kind_name(kind) : "plugin") + " \"" + std::string(name) + "\"";
  if (refused) return error(CONSORT_E_UNSUPPORTED, label + " cannot be used: " + refused->reason);
  return error(CONSORT_E_UNSUPPORTED,
               label + " not found" + did_you_mean(name, usable) + "; consort plugins lists what there is");
}

// Opens the module, checks versions and declares its parameters: all but init().
Result<Registry::Live *> Registry::prepare(size_t index) {
  for (const auto &live : live_)
    if (live->index == index) return live.get();
  const Found &f = found_[index];
  const Source &source = sources_[index];
  const std::string label =
      "plugin \"" + f.name + "\"" + (f.path.empty() ? " (linked into the program)" : " (" + f.path + ")");
  auto live = std::make_unique<Live>();
  live->index = index;
  if (source.entry) {
    live->module = Module(source.entry);
  } else {
    auto module = Module::open(f.path, f.flags & CONSORT_PF_UNLOADABLE);
    if (!module) return module.error();
    live->module = std::move(*module);
  }
  live->host = std::make_unique<Host>(hooks_, log_, config_, f.name);
  auto module = ask_module(live->module.entry(), live->host->table(), label);
  if (!module) return module.error();

  Result<void> filled =
      error(CONSORT_E_ABI,
            label + " does not bring the plugin that its note announces: repeat its name in CONSORT_MODULE(...)");
  for (uint32_t i = 0; i < (*module)->nplugins; ++i) {
    const consort_plugin *p = (*module)->plugins[i];
    const bool this_one = (*module)->nplugins == 1 || (p && p->name && p->kind == f.kind && f.name == p->name);
    if (!this_one) continue;
    filled = live->manifest.fill(p, source.entry ? nullptr : &source.note, label);
    break;
  }
  if (!filled) return filled.error();
  const consort_plugin &m = live->manifest.plugin;
  if (auto declared = config_->declare(f.name, m.params, m.nparams); !declared) {
    bad_setting_ = declared.error().status == CONSORT_E_INVAL;  // the user's error; else the plugin's
    return declared.error();
  }
  if (!live->manifest.holes.empty())
    log_.write(kLogInfo, label + " lacks functions, which answer as unsupported: " + live->manifest.holes);
  live->host->manifest = &m;
  live->plugin.manifest = &m;
  live->plugin.host = live->host->table();
  live->plugin.path = f.path;
  live->host->owner = &live->plugin;
  live_.push_back(std::move(live));
  return live_.back().get();
}

Result<Plugin *> Registry::start(size_t index, bool by_default) {
  auto prepared = prepare(index);
  if (!prepared) return prepared.error();
  Live &live = **prepared;
  if (live.started) return &live.plugin;
  const Found &f = found_[index];
  if (auto passed = pass_layers(live); !passed) return passed.error();
  const consort_plugin &m = live.manifest.plugin;
  live.plugin.by_default = by_default;
  live.host->start.flags = by_default ? CONSORT_START_BY_DEFAULT : 0;
  clear_error();
  const consort_status status =
      guarded("plugin \"" + f.name + "\"", "init", [&] {
        return plugin_status(m.init(live.host->table(), &live.plugin.self), f.name.c_str(), "init()");
      });
  if (status < 0) {
    const std::string why = words(status), place = live.host->place_of(status, why);
    bad_setting_ = status == CONSORT_E_INVAL && !place.empty();
    return error(status, place + kind_name(f.kind) + " \"" + f.name + "\" did not start: " + why);
  }
  live.started = true;
  if (log_.wants(kLogInfo))
    log_.write(kLogInfo, std::string(kind_name(f.kind)) + " \"" + f.name + "\" " + f.version + " started" +
                             (f.path.empty() ? "" : " from " + f.path));
  return &live.plugin;
}

Result<Plugin *> Registry::load(uint32_t kind, std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (auto fine = check_choices(); !fine) return fine.error();
  if (auto open = open_layers(); !open) return open.error();
  auto index = look_up(kind, name);
  if (!index) return index.error();
  return start(*index);
}

Result<const consort_plugin *> Registry::inspect(uint32_t kind, std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto index = look_up(kind, name);
  if (!index) return index.error();
  auto live = prepare(*index);
  if (!live) return live.error();
  return &(*live)->manifest.plugin;
}

Result<std::vector<Plugin *>> Registry::load_drivers() {
  const std::lock_guard lock(mutex_);
  if (auto fine = check_choices(); !fine) return fine.error();
  if (auto open = open_layers(); !open) return open.error();
  struct Wish { size_t index; bool named, by_default; };
  std::vector<Wish> wishes;
  std::vector<std::string> never;
  const auto wish = [&](size_t index, bool named, bool by_default) {
    for (Wish &w : wishes)
      if (w.index == index) return void(w.named |= named);
    wishes.push_back({index, named, by_default});
  };
  const std::vector<std::string> selected = config_->list("drivers");
  bool all = true;  // only "^name": all except these
  for (const std::string &word : selected) {
    if (word[0] == '^') never.push_back(word.substr(1));
    else if (word != "*") all = false;
  }
  for (const std::string &word : selected) {
    if (word == "*") { all = true; continue; }
    auto index = look_up(CONSORT_KIND_DRIVER, word[0] == '^' ? word.substr(1) : word);
    if (word[0] == '^') continue;  // an excluded driver need not exist
    if (!index) return error(index.error().status, config_->origin("drivers") + ": " + index.error().text);
    wish(*index, true, false);
  }
  // Drivers for every machine, then drivers that look for devices, then drivers of devices that no other one has.
  constexpr uint32_t kMask = CONSORT_PF_BY_NAME | CONSORT_PF_PROBED | CONSORT_PF_LAST;
  const auto select = [&](uint32_t flags) {
    for (size_t i = 0; all && i < found_.size(); ++i)
      if (found_[i].usable && found_[i].kind == CONSORT_KIND_DRIVER && (found_[i].flags & kMask) == flags)
        wish(i, false, flags != 0);
  };
  select(0);
  select(CONSORT_PF_BY_NAME | CONSORT_PF_PROBED);
  select(kMask);

  std::vector<Plugin *> drivers;
  DefaultDevices devices(*config_, log_);
  for (const Wish &w : wishes) {
    const Found &f = found_[w.index];
    if (std::find(never.begin(), never.end(), f.name) != never.end()) continue;
    if (w.by_default && !devices.are_there(f.name, sources_[w.index].devices, f.flags & CONSORT_PF_LAST)) continue;
    bad_setting_ = false;
    auto started = start(w.index, w.by_default);
    if (started) {
      devices.add(**started);
      drivers.push_back(*started);
    } else if (bad_setting_) {
      return started.error();
    } else if (w.named && started.error().status != CONSORT_E_UNSUPPORTED) {
      return started.error();
    } else {
      log_.write(started.error().status == CONSORT_E_UNSUPPORTED && !w.named ? kLogInfo : kLogWarn,
                 started.error().text);
    }
  }
  return drivers;
}

}  // namespace consort
