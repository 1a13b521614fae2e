#include "memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace conform {

Guarded::Guarded(size_t bytes) : bytes_(bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = (bytes + page - 1) / page * page + page;
  void *p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(static_cast<char *>(p) + mapped_ - page, page, PROT_NONE) != 0)
    throw std::system_error(errno, std::generic_category(), "no memory for a case");
  pages_ = static_cast<char *>(p);
  begin_ = pages_ + mapped_ - page - bytes;
}

Guarded::Guarded(const void *from, size_t bytes) : Guarded(bytes) {
  if (bytes) std::memcpy(begin_, from, bytes);
  seal();
}

Guarded::~Guarded() { munmap(pages_, mapped_); }

void Guarded::seal() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (mapped_ > page) mprotect(pages_, mapped_ - page, PROT_READ);
}

Arena::Arena(size_t bytes, Random &random) : bytes_(bytes + 64), size_(bytes) {
  begin_ = bytes_.data() + (64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64;
  for (unsigned char &b : bytes_) b = static_cast<unsigned char>(random.next());
}

int64_t Arena::find(uint64_t at, uint64_t n) const {
  const auto begin = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(begin_));
  if (at < begin || at - begin > size_ || n > size_ - (at - begin)) return -1;
  return static_cast<int64_t>(at - begin);
}

}  // namespace conform
