#include "library.hpp"

#include <consort/shared/plain_file.hpp>
#include <dlfcn.h>

#include "../streams/isolated_library.hpp"

namespace hip {
namespace {

streams::LibraryNamespace &isolated() noexcept {
  static constinit streams::LibraryNamespace library_namespace;  // one per process: linker namespaces are never destroyed
  return library_namespace;
}

void *open_here(const char *name, int how = 0) noexcept { return ::dlopen(consort::shared::LibraryName(name), RTLD_NOW | RTLD_LOCAL | how); }

// Libraries with other names are not AMD's and contain no compiler.
bool is_amd_library(const char *name) noexcept {
  return streams::LoadedLibraries::begins(name, "libamdhip64.so") || streams::LoadedLibraries::begins(name, "libhiprtc.so");
}

constexpr const char *kSupport = "libamd_comgr";
// HIP's compiler support is not loaded yet, and a conflicting library is.
bool has_conflict() noexcept { return !streams::is_loaded({kSupport}) && streams::uses_shared_llvm({"libclang", "libpocl"}); }

}  // namespace

void *open_library(const char *name) noexcept { return is_amd_library(name) && has_conflict() ? isolated().open(name) : open_here(name); }

void *open_compiler(const char *name) noexcept {
  if (!is_amd_library(name) || streams::is_loaded({kSupport})) return open_here(name);
  if (!has_conflict())
    if (void *here = open_here(name, RTLD_NOLOAD)) return here;
  return isolated().open(name);
}

void *open_beside(const char *name, bool apart, bool there) noexcept {
  if (!apart) return open_here(name, there ? RTLD_NOLOAD : 0);
  return there ? nullptr : isolated().open(name);  // the program's own library uses the other HIP
}

}  // namespace hip
