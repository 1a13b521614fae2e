// isolated_library.hpp — opens a vendor's library in a linker namespace of its own when it conflicts with a loaded one.
//
// Two compilers on one shared libLLVM abort the process. Each brings a clang (libclang-cpp for PoCL, the one inside libamd_comgr
// for HIP), and both register their options in libLLVM's single registry. The second is therefore opened by dlmopen() with a private
// libLLVM. The namespace also has its own C library, allocator and threads. Pointers may cross, but memory must be freed by the side
// that allocated it.
#pragma once
#include <consort/shared/plain_file.hpp>
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <mutex>

namespace streams {

// Searches the process for a library whose file name starts with one of `names`; with on_llvm, one that needs a shared libLLVM.
class LoadedLibraries {
 public:
  static bool any(std::initializer_list<const char *> names, bool on_llvm) noexcept {
    LoadedLibraries search{names, on_llvm};
    return dl_iterate_phdr([](dl_phdr_info *info, size_t, void *of) {
      const auto &s = *static_cast<const LoadedLibraries *>(of);
      return info->dlpi_name && s.matches(info->dlpi_name) && (!s.on_llvm_ || needs_llvm(info)) ? 1 : 0;
    }, &search) != 0;
  }
  static bool begins(const char *path, const char *with) noexcept {
    const char *slash = std::strrchr(path, '/');
    return std::strncmp(slash ? slash + 1 : path, with, std::strlen(with)) == 0;
  }

 private:
  LoadedLibraries(std::initializer_list<const char *> names, bool on_llvm) noexcept : names_(names), on_llvm_(on_llvm) {}
  bool matches(const char *path) const noexcept {
    for (const char *name : names_)
      if (begins(path, name)) return true;
    return false;
  }
  // Reads the DT_NEEDED entries; the loader has already mapped their strings.
  static bool needs_llvm(const dl_phdr_info *info) noexcept {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
      const auto *first = reinterpret_cast<const ElfW(Dyn) *>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      ElfW(Addr) strings = 0;
      for (const auto *d = first; d->d_tag != DT_NULL; ++d)
        if (d->d_tag == DT_STRTAB) strings = d->d_un.d_ptr;
      if (!strings) return false;
      if (strings < info->dlpi_addr) strings += info->dlpi_addr;  // some loaders leave the offset unrelocated
      for (const auto *d = first; d->d_tag != DT_NULL; ++d)
        if (d->d_tag == DT_NEEDED && begins(reinterpret_cast<const char *>(strings + d->d_un.d_val), "libLLVM")) return true;
    }
    return false;
  }

  std::initializer_list<const char *> names_;
  bool on_llvm_;
};
inline bool is_loaded(std::initializer_list<const char *> names) noexcept { return LoadedLibraries::any(names, false); }
inline bool uses_shared_llvm(std::initializer_list<const char *> names) noexcept { return LoadedLibraries::any(names, true); }

// The linker namespace of one plugin, created when the first library is opened in it. The number of namespaces is limited and they are
// never destroyed, so the plugin stays loaded too. Any thread.
class LibraryNamespace {
 public:
  void *open(const char *library) noexcept {
    const std::lock_guard lock(mutex_);
    void *handle = dlmopen(created_ ? id_ : LM_ID_NEWLM, consort::shared::LibraryName(library), RTLD_NOW | RTLD_LOCAL);
    if (!handle || created_) return handle;
    created_ = dlinfo(handle, RTLD_DI_LMID, &id_) == 0;
    copy_environment(handle);
    Dl_info here;
    if (dladdr(this, &here) && here.dli_fname) (void)dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    return handle;
  }

 private:
  // The namespace's C library inherits the address of the environment, and would read freed memory once setenv() moves it. It gets
  // a copy, which does not show later changes.
  void copy_environment(void *handle) noexcept {
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
  bool created_ = false;
  Lmid_t id_ = 0;
  char **environment_ = nullptr;  // read by its C library
};

}  // namespace streams
