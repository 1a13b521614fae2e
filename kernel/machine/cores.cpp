#include "machine/cores.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>

#include <unistd.h>

namespace consort {

struct CoreLease::Claim {
  std::vector<int> cores;  // sorted, without duplicates
  std::string owner, sharing;
  pid_t process;           // a child of fork() inherits the list, not the runtimes in it
  void *next = nullptr;
};

namespace {
constinit std::mutex mutex;       // guards the list
constinit void *claims = nullptr; // CoreLease::Claim, newest first
}  // namespace

std::string print_cores(std::vector<int> cores) {
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  std::string out;
  for (size_t i = 0; i < cores.size();) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    out += (out.empty() ? "" : ",") + std::to_string(cores[i]);
    if (last > i) out += "-" + std::to_string(cores[last]);
    i = last + 1;
  }
  return out;
}

Result<CoreLease> claim(std::span<const int> os_cores, bool refuse, std::string_view owner) {
  auto mine = std::make_unique<CoreLease::Claim>();
  std::copy_if(os_cores.begin(), os_cores.end(), std::back_inserter(mine->cores), [](int core) { return core >= 0; });
  std::sort(mine->cores.begin(), mine->cores.end());
  mine->cores.erase(std::unique(mine->cores.begin(), mine->cores.end()), mine->cores.end());
  mine->owner = owner;
  mine->process = ::getpid();

  const std::lock_guard lock(mutex);
  for (auto *c = static_cast<CoreLease::Claim *>(claims); c; c = static_cast<CoreLease::Claim *>(c->next)) {
    if (c->process != mine->process) continue;
    std::vector<int> both;
    std::set_intersection(c->cores.begin(), c->cores.end(), mine->cores.begin(), mine->cores.end(),
                          std::back_inserter(both));
    if (both.empty()) continue;
    const std::string what = print_cores(std::move(both));
    if (refuse)
      return error(CONSORT_E_BUSY, std::string(owner) + " wants cores " + what + ", which " + c->owner +
                                     " of this process has: give it others, or set cores = \"share\"");
    mine->sharing += (mine->sharing.empty() ? "shares cores " : ", ") + what + " with " + c->owner;
  }
  mine->next = claims;
  claims = mine.get();
  return CoreLease(mine.release());
}

CoreLease::~CoreLease() {
  if (!claim_) return;
  const std::lock_guard lock(mutex);
  void **place = &claims;
  while (*place != claim_) place = &static_cast<Claim *>(*place)->next;
  *place = claim_->next;
  delete claim_;
}

std::string_view CoreLease::sharing() const noexcept { return claim_ ? std::string_view(claim_->sharing) : ""; }

}  // namespace consort
