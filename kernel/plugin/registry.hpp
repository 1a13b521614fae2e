// The room plugin: settings (config), plugin files (finder, elf_note, loader, manifest), the service table of plugins
// (host) and the layers around their functions (layers). It includes base alone; every room above may use it. Start
// with registry.hpp, then finder.cpp and host.hpp.
//
// registry.hpp — the plugins of one runtime: those found, and those loaded.
//
// Finding reads notes and loads nothing. A plugin lives from load() to the end of the registry, and so do its address,
// tables and strings. [control]: a mutex (rank: above the config's, below the runtime's) serialises all calls, so no
// two init() or fini() calls of one runtime overlap. It uses the runtime only through the hooks, and unmaps only code
// that is declared unloadable.
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
  const consort_plugin *manifest = nullptr;  // this host's copy: complete, ops is the copied table
  void *self = nullptr;
  const consort_host *host = nullptr;
  std::string path;                          // "": linked into the program
  bool by_default = false;                   // a driver that no setting names: it was found by its devices
  std::vector<bool> left_out;                // its devices that another driver has; shorter: none of the rest
  bool uses(uint32_t device) const noexcept { return device >= left_out.size() || !left_out[device]; }

  // The copied table of its kind. A missing mandatory function is a stub (returns E_UNSUPPORTED or 0); a missing
  // optional hook is NULL. Returns NULL for a plugin of another kind.
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
    std::string reason;  // why it is not used; "" if usable
    uint32_t kind = 0;
    bool usable = false;
    uint16_t flags = 0, abi_major = 0, abi_minor = 0, host_major = 0, host_minor = 0;
    uint32_t sanitizer = 0;
  };

  // consort_settings.admit: called for each usable plugin file, before any is loaded. fn NULL: every file is accepted.
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

  // Loads the plugin, checks versions, declares its parameters, calls init(). A second call returns the same plugin.
  Result<Plugin *> load(uint32_t kind, std::string_view name);
  // Loads all drivers that the key `drivers` selects. A driver that does not start is logged in one line and skipped.
  // It is an error if the driver was named there and failed otherwise than with E_UNSUPPORTED, or if it rejects a given
  // value.
  Result<std::vector<Plugin *>> load_drivers();
  // As load(), without init(): the manifest (valid as long as the registry), its parameters declared.
  Result<const consort_plugin *> inspect(uint32_t kind, std::string_view name);

  // All plugins found, also rejected and superseded ones, in order of kind and name. Constant.
  const std::vector<Found> &found() const noexcept { return found_; }
  // Fails if a plugin is missing that the settings select, or that a section belongs to. load() checks it first.
  Result<void> check_choices() const;
  // Fails if a named driver or policy is missing. For callers that start none; load() reports each by itself.
  Result<void> check_names() const;

 private:
  struct Source;  // origin of a Found
  struct Live;    // an opened module and its state
  class Finder;
  Registry();
  Result<void> open_layers();
  Result<void> pass_layers(Live &);
  Result<size_t> look_up(uint32_t kind, std::string_view name) const;
  Result<Live *> prepare(size_t index);
  Result<Plugin *> start(size_t index, bool by_default = false);

  std::shared_ptr<Config> config_;
  HostHooks hooks_;
  Log log_;
  std::vector<Found> found_;
  std::vector<Source> sources_;               // beside found_
  Result<void> selection_;                    // the error of a selected plugin that is missing
  std::mutex mutex_;                          // guards live_ and every call of init, quiesce, fini
  bool bad_setting_ = false;                  // the last start() failed because of a given value
  std::vector<Plugin *> layers_;              // the started layers of the setting; the first is outermost
  bool layers_open_ = false;
  std::vector<std::unique_ptr<Live>> live_;   // in the order of loading: layers before the plugins that they wrap
};

const char *kind_name(uint32_t kind) noexcept;  // "driver"; "" for a kind unknown to this host

}  // namespace consort
