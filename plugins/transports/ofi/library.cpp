#include "library.hpp"

#include <dlfcn.h>

#include <consort/plugin/host.hpp>
#include <mutex>
#include <string>

namespace ofi {
namespace {

std::mutex mutex;  // guards the first load
Library library;   // complete once get() has returned

}  // namespace

KeptSignals::KeptSignals() noexcept {
  for (int s = 1; s < kSignals; ++s) sigaction(s, nullptr, &before_[s]);
}
KeptSignals::~KeptSignals() {
  for (int s = 1; s < kSignals; ++s) {
    struct sigaction now;
    if (s == SIGKILL || s == SIGSTOP || sigaction(s, nullptr, &now) < 0) continue;
    if (now.sa_handler != before_[s].sa_handler || ((now.sa_flags ^ before_[s].sa_flags) & SA_SIGINFO))
      sigaction(s, &before_[s], nullptr);
  }
}

const Library &Library::loaded() noexcept { return library; }

const Library &Library::get() {
  const std::lock_guard guard(mutex);
  if (library.getinfo) return library;
  const KeptSignals kept;
  void *const file = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto give_up = [](const char *text) {
    throw consort::plugin::Error(CONSORT_E_UNSUPPORTED, std::string("libfabric cannot be used (Debian: libfabric1): ") +
                                                            (text ? text : "a function is missing"));
  };
  if (!file) give_up(dlerror());
  Library l;
  const auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(file, name));
    if (!function) give_up(dlerror());
  };
  find(l.freeinfo, "fi_freeinfo");
  find(l.dupinfo, "fi_dupinfo");
  find(l.fabric, "fi_fabric");
  find(l.strerror, "fi_strerror");
  find(l.getinfo, "fi_getinfo");
  return library = l;
}

}  // namespace ofi
