// isolated_library.hpp — a vendor's library in a room of its own, where it would not live with what is there.
//
// Compilers of two vendors that stand on one shared libLLVM abort the process: each brings a clang of its own (libclang-cpp
// for PoCL, what is built into libamd_comgr for HIP), and both enter its options into the one registry that libLLVM has.
// Whoever comes second is opened in a namespace of the loader's (dlmopen), with a libLLVM that is nobody else's. What is
// the namespace's own besides: its C library, allocator and threads included. Pointers may cross; whoever frees memory
// there must be of there.
#pragma once
#include <consort/shared/plain_file.hpp>
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>

namespace streams {

// A library in the process whose file's name begins like one of `names`; with on_llvm, one that stands on a shared libLLVM.
class Search {
 public:
  static bool finds(std::initializer_list<const char *> names, bool on_llvm) noexcept {
    Search search{names, on_llvm};
    return dl_iterate_phdr([](dl_phdr_info *info, size_t, void *of) {
      const auto &s = *static_cast<const Search *>(of);
      return info->dlpi_name && s.means(info->dlpi_name) && (!s.on_llvm_ || needs_llvm(info)) ? 1 : 0;
    }, &search) != 0;
  }
  static bool begins(const char *path, const char *with) noexcept {
    const char *slash = std::strrchr(path, '/');
    return std::strncmp(slash ? slash + 1 : path, with, std::strlen(with)) == 0;
  }

 private:
  Search(std::initializer_list<const char *> names, bool on_llvm) noexcept : names_(names), on_llvm_(on_llvm) {}
  bool means(const char *path) const noexcept {
    for (const char *name : names_)
      if (begins(path, name)) return true;
    return false;
  }
  // By what the library says that it needs; its strings lie where the loader has put them.
  static bool needs_llvm(const dl_phdr_info *info) noexcept {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
      const auto *first = reinterpret_cast<const ElfW(Dyn) *>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      ElfW(Addr) strings = 0;
      for (const auto *d = first; d->d_tag != DT_NULL; ++d)
        if (d->d_tag == DT_STRTAB) strings = d->d_un.d_ptr;
      if (!strings) return false;
      if (strings < info->dlpi_addr) strings += info->dlpi_addr;  // not every machine's loader makes it an address
      for (const auto *d = first; d->d_tag != DT_NULL; ++d)
        if (d->d_tag == DT_NEEDED && begins(reinterpret_cast<const char *>(strings + d->d_un.d_val), "libLLVM")) return true;
    }
    return false;
  }

  std::initializer_list<const char *> names_;
  bool on_llvm_;
};
inline bool is_there(std::initializer_list<const char *> names) noexcept { return Search::finds(names, false); }
inline bool stands_on_llvm(std::initializer_list<const char *> names) noexcept { return Search::finds(names, true); }

// The namespace of one plugin, made when the first library is opened there. A process has few: it lasts as long as the
// process, and so does the plugin then. Any thread.
class Room {
 public:
  void *open(const char *library) noexcept {
    const std::lock_guard lock(mutex_);
    void *handle = dlmopen(made_ ? id_ : LM_ID_NEWLM, consort::shared::LibraryName(library), RTLD_NOW | RTLD_LOCAL);
    if (!handle || made_) return handle;
    made_ = dlinfo(handle, RTLD_DI_LMID, &id_) == 0;
    give_environment(handle);
    Dl_info here;
    if (dladdr(this, &here) && here.dli_fname) (void)dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return handle;
  }

 private:
  // Its C library took over where the variables of the environment lie, and would look there still when setenv() has moved
  // them and freed the place: it gets a copy. What is set later it does not see.
  void give_environment(void *handle) noexcept {
    auto ***theirs = static_cast<char ***>(dlsym(handle, "environ"));
    if (!theirs || !*theirs) return;
    size_t n = 0;
    while ((*theirs)[n]) ++n;
    environment_ = static_cast<char **>(std::calloc(n + 1, sizeof *environment_));
    for (size_t i = 0; environment_ && i < n && (environment_[i] = strdup((*theirs)[i])); ++i) {
    }
    *theirs = environment_;
  }

  std::mutex mutex_;
  bool made_ = false;
  Lmid_t id_ = 0;
  char **environment_ = nullptr;  // that its C library reads
};

}  // namespace streams
