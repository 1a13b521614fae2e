#include "library.hpp"

#include <dirent.h>
#include <dlfcn.h>

#include <consort/plugin/host.hpp>
#include <cstdlib>
#include <mutex>
#include <string>

namespace ofi {
namespace {

std::mutex mutex;  // guards the first load
Library library;   // complete once get() has returned

constexpr const char *kReceives = "FI_OFI_RXM_MSG_RX_SIZE";

bool has_one_thread() noexcept {
  DIR *const threads = opendir("/proc/self/task");
  if (!threads) return false;
  size_t n = 0;
  while (const dirent *const entry = readdir(threads)) n += entry->d_name[0] != '.';
  closedir(threads);
  return n == 1;
}

}  // namespace

FewReceives::FewReceives() noexcept {
  if (!std::getenv(kReceives) && has_one_thread()) is_set_ = setenv(kReceives, "512", 1) == 0;
}
FewReceives::~FewReceives() {
  if (is_set_) unsetenv(kReceives);
}

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
