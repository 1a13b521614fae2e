#include "conform/driver/lent.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace conform {

LentMemory::~LentMemory() {
  for (const Place &p : places_)
    if (p.begin) munmap(p.begin, p.bytes);
}

void *LentMemory::lend(size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), whole = (bytes + page - 1) / page * page;
  Place &p = places_[next_++ % kPlaces];
  if (p.bytes < whole) {
    if (p.begin) munmap(p.begin, p.bytes);
    p = {};
    void *fresh = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fresh == MAP_FAILED) throw std::bad_alloc();
    p = {fresh, whole};
  } else if (mprotect(p.begin, p.bytes, PROT_READ | PROT_WRITE) != 0) {
    throw std::bad_alloc();
  }
  return p.begin;
}

void LentMemory::close() {
  for (; closed_ < next_; ++closed_) {
    const Place &p = places_[closed_ % kPlaces];
    mprotect(p.begin, p.bytes, PROT_NONE);
  }
}

}  // namespace conform
