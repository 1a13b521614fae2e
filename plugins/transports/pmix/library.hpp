// library.hpp — libpmix, loaded at the first start-up. It stays loaded, and its client stays started until the process or
// the plugin ends: a process of the launcher's job tells its end once.
#pragma once
#include <pmix.h>

namespace pmix {

struct Library {
  decltype(&::PMIx_Init) init = nullptr;
  decltype(&::PMIx_Finalize) finalize = nullptr;
  decltype(&::PMIx_Put) put = nullptr;
  decltype(&::PMIx_Commit) commit = nullptr;
  decltype(&::PMIx_Fence_nb) fence = nullptr;
  decltype(&::PMIx_Get_nb) get = nullptr;
  decltype(&::PMIx_Abort) abort = nullptr;
  decltype(&::PMIx_Error_string) error_string = nullptr;
};

class Client {
 public:
  static const Client &get();              // [any] throws an Error where the library or the launcher's server is missing
  const Library &library() const noexcept { return library_; }
  const pmix_proc_t &self() const noexcept { return self_; }

 private:
  Client();
  ~Client();
  Library library_;
  pmix_proc_t self_{};
};

}  // namespace pmix
