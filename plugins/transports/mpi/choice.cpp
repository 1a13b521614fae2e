#include "choice.hpp"

#include <dlfcn.h>
#include <link.h>

#include <consort/plugin/host.hpp>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace mpi {
namespace {

using consort::plugin::Error;

struct Abi {
  const char *file;
  const char *symbol;                    // that only this ABI has; nullptr: any other MPI
  std::vector<const char *> environment;  // of its launcher
};

const std::vector<Abi> &abis() {
  static const std::vector<Abi> all = {
      {"openmpi", "ompi_mpi_comm_world", {"OMPI_COMM_WORLD_SIZE", "OMPI_MCA_orte_ess_num_procs"}},
      {"mpich", nullptr, {"PMI_SIZE", "PMI_RANK", "PMI_FD", "MPI_LOCALRANKID"}}};
  return all;
}

// An MPI library that the process has loaded, also if its symbols are not global.
const char *loaded() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *out) {
        if (info->dlpi_name && *info->dlpi_name) static_cast<std::vector<std::string> *>(out)->emplace_back(info->dlpi_name);
        return 0;
      },
      &files);
  bool has_other = false;
  for (const std::string &file : files) {
    if (file.find("mpi") == std::string::npos) continue;
    void *const library = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    const bool is_mpi = dlsym(library, "MPI_Init_thread");
    const bool is_open = dlsym(library, abis()[0].symbol);
    dlclose(library);
    if (is_open) return abis()[0].file;
    has_other |= is_mpi;
  }
  return has_other ? abis()[1].file : nullptr;
}

std::string folder() {
  Dl_info self;
  if (!dladdr(reinterpret_cast<void *>(&load), &self) || !self.dli_fname) return ".";
  const std::string file = self.dli_fname;
  const size_t slash = file.find_last_of('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

Library *load_from(const std::string &file, std::string &why) {
  dlerror();
  void *const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  const auto entry = handle ? reinterpret_cast<Entry *>(dlsym(handle, kEntry)) : nullptr;
  if (entry) return entry();
  const char *text = dlerror();
  why += "\n  " + (text ? std::string(text) : file + " is none of this plugin");
  return nullptr;
}

}  // namespace

Library &load(const std::string &wanted) {
  std::vector<std::string> tries;
  if (wanted != "auto") {
    tries = {wanted};
  } else if (const char *found = loaded()) {
    tries = {found};
  } else {
    for (const Abi &abi : abis())
      for (const char *variable : abi.environment)
        if (secure_getenv(variable) && tries.empty()) tries = {abi.file};
    if (tries.empty())
      for (const Abi &abi : abis()) tries.emplace_back(abi.file);
  }
  std::string why;
  for (const std::string &name : tries)
    for (const std::string &at : {folder() + "/mpi", std::string(CONSORT_MPI_FOLDER)})
      if (Library *library = load_from(at + "/" + name + ".so", why)) return *library;
  throw Error(CONSORT_E_UNSUPPORTED, "no MPI library for " + tries.front() + " is loaded (mpi.library):" + why);
}

}  // namespace mpi
