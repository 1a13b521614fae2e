#include "library.hpp"

#include <dlfcn.h>

#include <consort/plugin/host.hpp>
#include <string>
#include <type_traits>

namespace pmix {
namespace {

using consort::plugin::Error;

Library load() {
  void *const file = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
  const auto give_up = [](const char *text) {
    throw Error(CONSORT_E_UNSUPPORTED, std::string("libpmix cannot be used (Debian: libpmix2): ") + (text ? text : "a function is missing"));
  };
  if (!file) give_up(dlerror());
  Library l;
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
    if (!function) give_up(dlerror());
  };
  find(l.init, "PMIx_Init");
  find(l.finalize, "PMIx_Finalize");
  find(l.put, "PMIx_Put");
  find(l.commit, "PMIx_Commit");
  find(l.fence, "PMIx_Fence_nb");
  find(l.get, "PMIx_Get_nb");
  find(l.abort, "PMIx_Abort");
  find(l.error_string, "PMIx_Error_string");
  return l;
}

}  // namespace

const Client &Client::get() {
  static Client client;
  return client;
}

Client::Client() : library_(load()) {
  if (const pmix_status_t s = library_.init(&self_, nullptr, 0); s != PMIX_SUCCESS)
    throw Error(CONSORT_E_UNSUPPORTED, std::string("the launcher's PMIx server does not answer: ") + library_.error_string(s));
}

Client::~Client() { library_.finalize(nullptr, 0); }

}  // namespace pmix
