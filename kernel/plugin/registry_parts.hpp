// registry_parts.hpp — private parts of the registry: a plugin's origin, a loaded plugin, and the finder.
//
// Owned by the registry; [control], under its mutex.
#pragma once
#include <cxxabi.h>
#include <sys/types.h>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/last_error.hpp"
#include "base/status_name.hpp"
#include "plugin/loader.hpp"
#include "plugin/manifest.hpp"
#include "plugin/registry.hpp"

namespace consort {

struct Registry::Source {
  consort_note note{};
  consort_entry_fn *entry = nullptr;  // linked into the program; NULL: a file
  int rank = 0;                       // of its place: a lower rank is nearer to the user
  std::string devices;                // where its devices show in the file system; "": it does not say
};

struct Registry::Live {
  Module module;                      // first member: the code must outlive all members below
  size_t index = 0;
  bool started = false;
  Manifest manifest;                  // as the runtime uses it
  bool passed = false;                // was passed to the layers
  std::vector<std::unique_ptr<Manifest>> beneath;  // the tables given to each layer that replaced them
  std::unique_ptr<Host> host;
  Plugin plugin;

  // Leaks all that was given to the plugin: its threads may still use it.
  void strand() noexcept {
    (void)host.release();
    for (auto &m : beneath) (void)m.release();
    stranded = new (std::nothrow) Module(module);
  }
  Module *stranded = nullptr;
};

// Searches the folders for plugins, reads their notes, and picks one plugin of each kind and name.
class Registry::Finder {
 public:
  Finder(const Config &config, const Log &log, Admission admission)
      : config_(config), log_(log), admission_(admission) {}
  Result<void> add_module(consort_entry_fn *, uint32_t index);
  void add_files();
  // Applies the selection, then keeps one plugin of each kind and name. Fails if a selected name does not exist.
  Result<void> choose();
  void take(std::vector<Found> *found, std::vector<Source> *sources);

 private:
  struct Item { Found found; Source source; size_t order = 0; };
  void add_folder(const std::string &folder, int rank);
  void add_file(const std::string &path, int rank);
  void refuse(Item &, std::string reason, int32_t level);
  Result<void> select();
  void ask_admission();  // once for each file

  const Config &config_;
  const Log &log_;
  const Admission admission_;
  std::vector<Item> items_;
  std::vector<std::pair<dev_t, ino_t>> seen_;  // one file found by two paths counts once
};

// Calls a plugin's function and catches its exceptions. The forced unwinding of a cancelled thread passes through.
template <class F>
consort_status guarded(const std::string &label, const char *function, F &&f) {
  try {
    return f();
  } catch (abi::__forced_unwind &) {
    throw;
  } catch (...) {
    return set_errorf(CONSORT_E_INTERNAL, "%s: %s threw an exception, which must not cross the boundary", label.c_str(),
                      function);
  }
}

// The text of a plugin's failure: its error text, or the name of the status.
inline std::string words(consort_status status) {
  const char *text = error_text();
  return *text ? text : std::string(status_name(status)) + ", without a word: it should call host->fail";
}

// Calls a module's entry and checks its result.
Result<const consort_module *> ask_module(consort_entry_fn *, const consort_host *, const std::string &label);

}  // namespace consort
