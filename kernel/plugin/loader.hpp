// loader.hpp — loads a plugin's file: opens it, finds its one symbol, keeps it mapped.
//
// The only unit that loads code (by Boost.DLL). Symbols stay local, all are bound at once. A module stays mapped after
// its last owner is gone, unless it was opened as unloadable. A plugin must declare that its code can be unloaded.
// [control].
#pragma once
#include <consort/plugin.h>

#include <memory>
#include <string>

#include "base/result.hpp"

namespace consort {

class Module {
 public:
  Module() = default;
  // The error is the system's text: it names the missing library or symbol.
  static Result<Module> open(const std::string &path, bool unloadable);
  explicit Module(consort_entry_fn *linked) : entry_(linked) {}
  consort_entry_fn *entry() const noexcept { return entry_; }

 private:
  std::shared_ptr<void> library_;  // NULL: linked into the program
  consort_entry_fn *entry_ = nullptr;
};

// Returns the folder of this library (or of the program that contains it), "" if unknown.
std::string own_folder();

}  // namespace consort
