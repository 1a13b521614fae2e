#include "thread_caches.hpp"

#include <consort/plugin.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace conform {

void run_without_thread_caches() {
#if defined(__GLIBC__)
  if (CONSORT_SAN) return;  // its allocator is another
  constexpr const char *kName = "GLIBC_TUNABLES";
  const char *const set = std::getenv(kName);
  std::string all = set ? set : "";
  if (all.find("glibc.malloc.tcache_count") != all.npos) return;
  all += (all.empty() ? "" : ":") + std::string("glibc.malloc.tcache_count=0");
  std::ifstream line("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(line)), {});
  std::vector<char *> arguments;
  for (size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    arguments.push_back(text.data() + at);
    if (text.find('\0', at) == text.npos) return;  // cut short
  }
  if (arguments.empty()) return;
  arguments.push_back(nullptr);
  setenv(kName, all.c_str(), 1);
  execv("/proc/self/exe", arguments.data());
#endif
}

}  // namespace conform
