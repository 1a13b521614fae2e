#include "library.hpp"

#include <consort/shared/plain_file.hpp>
#include <dlfcn.h>

#include "../streams/isolated_library.hpp"

namespace hip {
namespace {

streams::Room &room() noexcept {
  static constinit streams::Room room;  // of the process: a namespace of the loader's does not go again
  return room;
}

void *open_here(const char *name, int how = 0) noexcept { return ::dlopen(consort::shared::LibraryName(name), RTLD_NOW | RTLD_LOCAL | how); }

// Whatever is called otherwise is not AMD's, and brings no compiler.
bool is_amds(const char *name) noexcept {
  return streams::Search::begins(name, "libamdhip64.so") || streams::Search::begins(name, "libhiprtc.so");
}

constexpr const char *kSupport = "libamd_comgr";
// It is not here yet, and somebody is whom it would not live with.
bool is_taken() noexcept { return !streams::is_there({kSupport}) && streams::stands_on_llvm({"libclang", "libpocl"}); }

}  // namespace

void *open_library(const char *name) noexcept { return is_amds(name) && is_taken() ? room().open(name) : open_here(name); }

void *open_compiler(const char *name) noexcept {
  if (!is_amds(name) || streams::is_there({kSupport})) return open_here(name);
  if (!is_taken())
    if (void *here = open_here(name, RTLD_NOLOAD)) return here;
  return room().open(name);
}

void *open_beside(const char *name, bool apart, bool there) noexcept {
  if (!apart) return open_here(name, there ? RTLD_NOLOAD : 0);
  return there ? nullptr : room().open(name);  // the program's own is not for that HIP
}

}  // namespace hip
