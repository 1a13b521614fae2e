// loader.hpp — a plugin's file in the process: opened, its one symbol found, kept.
//
// The one room that loads code (by Boost.DLL). Symbols stay local, all are bound at once. A module stays mapped
// after its last owner is gone unless it was opened as unloadable: code that its vendor never tried to unload
// is not unloaded. [control].
#pragma once
#include <consort/plugin.h>

#include <memory>
#include <string>

#include "base/result.hpp"

namespace consort {

class Module {
 public:
  Module() = default;
  // The error is the system's own words: which library or symbol is missing.
  static Result<Module> open(const std::string &path, bool unloadable);
  explicit Module(consort_entry_fn *linked) : entry_(linked) {}
  consort_entry_fn *entry() const noexcept { return entry_; }

 private:
  std::shared_ptr<void> library_;  // NULL: linked into the program
  consort_entry_fn *entry_ = nullptr;
};

// The folder that holds this library (or the program that it is linked into), "" if that cannot be told.
std::string own_folder();

}  // namespace consort
