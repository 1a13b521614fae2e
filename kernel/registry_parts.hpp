// registry_parts.hpp — what the registry is made of and nobody else needs to see: where a plugin comes from, what
// a loaded one consists of, and how they are found.
//
// Owned by the registry; [control], under its mutex.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loader.hpp"
#include "manifest.hpp"
#include "registry.hpp"
#include "thread_tags.hpp"

namespace consort {

struct Registry::Source {
  consort_note note{};
  consort_entry_fn *entry = nullptr;  // linked into the program; NULL: a file
  int rank = 0;                       // of its place: lower is nearer to the user
};

struct Registry::Live {
  Module module;                      // first: the code outlives everything below
  size_t index = 0;
  bool started = false;
  Manifest manifest;
  std::unique_ptr<Host> host;
  std::unique_ptr<TagWatch> watch;    // only where the setting `check` is on
  Plugin plugin;

  // Somebody in there may still use what we gave it: nothing of it is freed.
  void strand() noexcept {
    (void)host.release();
    (void)watch.release();
    stranded = new (std::nothrow) Module(module);
  }
  Module *stranded = nullptr;
};

// Looks in the places where plugins may be, reads who they are, and picks one of each name.
class Registry::Finder {
 public:
  Finder(const Config &config, const Log &log) : config_(config), log_(log) {}
  Result<void> add_module(consort_entry_fn *, uint32_t index);
  void add_files();
  // Applies the selection, then keeps one plugin of each kind and name. The error: a selected name that is not there.
  Result<void> choose();
  void take(std::vector<Found> *found, std::vector<Source> *sources);

 private:
  struct Item { Found found; Source source; size_t order = 0; };
  void add_folder(const std::string &folder, int rank);
  void add_file(const std::string &path, int rank);
  void refuse(Item &, std::string reason, int32_t level);
  Result<void> select();

  const Config &config_;
  const Log &log_;
  std::vector<Item> items_;
  std::vector<std::pair<dev_t, ino_t>> seen_;  // one file by two ways is one file
};

// Calls a module's entry and checks its answer.
Result<const consort_module *> ask_module(consort_entry_fn *, const consort_host *, const std::string &who);

}  // namespace consort
