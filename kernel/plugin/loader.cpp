#include "plugin/loader.hpp"

#include <boost/dll/shared_library.hpp>

#include <dlfcn.h>
#include <link.h>

#include <exception>
#include <filesystem>
#include <new>
#include <system_error>

namespace consort {

Result<Module> Module::open(const std::string &path, bool unloadable) {
  using boost::dll::load_mode::type;
  auto mode = boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local;
  if (!unloadable) mode = static_cast<type>(mode | RTLD_NODELETE);
  try {
    auto library = std::make_shared<boost::dll::shared_library>(path, mode);
    Module module;
    module.entry_ = &library->get<const consort_module *(const consort_host *)>("consort_plugin_entry");
    module.library_ = std::move(library);
    return module;
  } catch (const std::bad_alloc &) {
    throw;
  } catch (const std::exception &e) {  // the text is the system's; the code carries no information
    return error(CONSORT_E_ABI, path + " cannot be loaded: " + e.what());
  }
}

std::string own_folder() {
  Dl_info info;
  link_map *map = nullptr;
  if (!dladdr1(reinterpret_cast<void *>(&own_folder), &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP))
    return {};
  // The linker keeps no name for the program itself, and dladdr returns argv[0], which may be anything.
  const char *name = map && map->l_name && *map->l_name ? map->l_name : "/proc/self/exe";
  std::error_code problem;
  const auto file = std::filesystem::canonical(name, problem);
  return problem ? std::string{} : file.parent_path().string();
}

}  // namespace consort
