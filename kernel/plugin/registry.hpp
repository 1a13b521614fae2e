// The room plugin: settings (config), plugin files (finder, elf_note, loader, manifest), their service table (host) and
// what stands around their functions (layers). It includes base alone; every room above may use it. Start
// with registry.hpp, then finder.cpp and host.hpp.
//
// registry.hpp — the plugins of one runtime: those found, and those that live.
//
// Finding reads notes and loads nothing. A plugin lives from load() to the end of the registry; its address,
// tables and strings are good as long. [control]: a mutex (rank: above the config's, below the runtime's)
// serialises everything, so a plugin's init() and fini() never run beside another's of the same runtime.
// It never holds on to the runtime but through the hooks, and never unmaps code that does not ask for it.
#pragma once
#include <consort/driver.h>
#include <consort/interface.h>
#include <consort/layer.h>
#include <consort/report.h>
#include <consort/scheduler.h>
#include <consort/transport.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "plugin/config.hpp"
#include "plugin/host.hpp"

namespace consort {

struct Plugin {
  const consort_plugin *manifest = nullptr;  // a copy as this host knows it: holes filled, ops the copied table
  void *self = nullptr;
  const consort_host *host = nullptr;
  std::string path;                          // "": linked into the program

  // The copied table of its kind, with stubs where a mandatory function is missing (they answer E_UNSUPPORTED or
  // 0); optional hooks that are missing are NULL. NULL: of another kind.
  const consort_driver_ops *driver() const noexcept { return ops_of<consort_driver_ops>(CONSORT_KIND_DRIVER); }
  const consort_interface_ops *interface() const noexcept {
    return ops_of<consort_interface_ops>(CONSORT_KIND_INTERFACE);
  }
  const consort_scheduler_ops *scheduler() const noexcept {
    return ops_of<consort_scheduler_ops>(CONSORT_KIND_SCHEDULER);
  }
  const consort_transport_ops *transport() const noexcept {
    return ops_of<consort_transport_ops>(CONSORT_KIND_TRANSPORT);
  }
  const consort_report_ops *report() const noexcept { return ops_of<consort_report_ops>(CONSORT_KIND_REPORT); }
  const consort_layer_ops *layer() const noexcept { return ops_of<consort_layer_ops>(CONSORT_KIND_LAYER); }

 private:
  template <class T>
  const T *ops_of(uint32_t kind) const noexcept {
    return manifest->kind == kind ? static_cast<const T *>(manifest->ops) : nullptr;
  }
};

class Registry {
 public:
  struct Found {
    std::string name, version, path;
    std::string reason;  // why it is not used; "" where usable
    uint32_t kind = 0;
    bool usable = false;
    uint16_t flags = 0, abi_major = 0, abi_minor = 0, host_major = 0, host_minor = 0;
    uint32_t sanitizer = 0;
  };

  // consort_settings.admit: asked about each usable plugin file, before any is loaded. fn NULL: every file is taken.
  struct Admission {
    const char *(*fn)(void *user, const char *path);
    void *user;
  };

  static Result<std::unique_ptr<Registry>> open(std::shared_ptr<Config>, const HostHooks &, LogFn, void *log_user,
                                                consort_entry_fn *const *modules, uint32_t nmodules,
                                                Admission = {nullptr, nullptr});
  ~Registry();
  Registry(const Registry &) = delete;
  Registry &operator=(const Registry &) = delete;

  // Loads, negotiates, declares its parameters, calls init(). The second time answers the same plugin.
  Result<Plugin *> load(uint32_t kind, std::string_view name);
  // All that the key `drivers` selects. One that does not start is logged in one line and left out, unless it
  // was named there and failed otherwise than with E_UNSUPPORTED, or refuses a value that was given for it.
  Result<std::vector<Plugin *>> load_drivers();
  // As load(), without init(): the manifest (good as long as the registry), its parameters declared.
  Result<const consort_plugin *> inspect(uint32_t kind, std::string_view name);

  // All, those refused and those that gave way too; in order of kind and name. Fixed.
  const std::vector<Found> &found() const noexcept { return found_; }
  // Are all plugins there that the settings ask for, and all that they are about? load() asks it first.
  Result<void> check_choices() const;
  // Are the drivers and the policy there that were named? For those who start none; load() tells of each by itself.
  Result<void> check_names() const;

 private:
  struct Source;  // where a Found comes from
  struct Live;    // a module that was opened and what came of it
  class Finder;
  Registry();
  Result<void> open_layers();
  Result<void> pass_layers(Live &);
  Result<size_t> look_up(uint32_t kind, std::string_view name) const;
  Result<Live *> prepare(size_t index);
  Result<Plugin *> start(size_t index);

  std::shared_ptr<Config> config_;
  HostHooks hooks_;
  Log log_;
  std::vector<Found> found_;
  std::vector<Source> sources_;               // beside found_
  Result<void> selection_;                    // a plugin that was asked for and is not there
  std::mutex mutex_;                          // guards live_ and every call of init, quiesce, fini
  bool bad_setting_ = false;                  // the last start() failed by a value that was given for the plugin
  std::vector<Plugin *> layers_;              // the setting, started; the first is outermost
  bool layers_open_ = false;
  std::vector<std::unique_ptr<Live>> live_;   // in the order of loading: layers before what they stand over
};

const char *kind_name(uint32_t kind) noexcept;  // "driver"; "" for a kind that this host does not know

}  // namespace consort
