#include "arena.hpp"

#include <sys/mman.h>

namespace consort {

std::byte *Reservation::reserve(size_t bytes, size_t least) noexcept {
  for (; bytes >= least; bytes /= 2) {
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    base_ = static_cast<std::byte *>(p);
    bytes_ = bytes;
    return base_;
  }
  return nullptr;
}

Reservation::~Reservation() {
  if (base_) munmap(base_, bytes_);
}

}  // namespace consort
