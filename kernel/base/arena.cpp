#include "base/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace consort {
namespace {
constexpr size_t kSmallPages = 4 << 20;
}

std::byte *Reservation::reserve(size_t bytes, size_t least, Pages pages) noexcept {
  for (; bytes >= least; bytes /= 2) {
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    base_ = static_cast<std::byte *>(p);
    // A large arena is walked repeatedly, so it uses huge pages. The first stretch does not: most runtimes use no more.
    if (pages == Pages::kLarge && bytes > kSmallPages) madvise(base_ + kSmallPages, bytes - kSmallPages, MADV_HUGEPAGE);
    bytes_ = bytes;
    return base_;
  }
  return nullptr;
}

void Reservation::trim(size_t bytes) noexcept {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  bytes = (bytes + page - 1) & ~(page - 1);
  if (bytes >= bytes_ || munmap(base_ + bytes, bytes_ - bytes) != 0) return;
  bytes_ = bytes;
}

Reservation::~Reservation() {
  if (base_) munmap(base_, bytes_);
}

}  // namespace consort
