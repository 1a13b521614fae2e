// Memory of the application, and its limit (STARPU_LIMIT_CPU_MEM, in MiB).
#include <consort/pinned.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <unordered_map>

#include "instance.hpp"

namespace starpu_layer {
namespace {

std::mutex memory_lock;
std::condition_variable memory_freed;
std::unordered_map<void *, size_t> counted;  // blocks that count
size_t used = 0;
size_t alignment = sizeof(void *);
starpu_malloc_hook own_malloc = nullptr;
starpu_free_hook own_free = nullptr;
int node_flags = STARPU_MALLOC_PINNED | STARPU_MALLOC_COUNT;

// Bytes; -1: no limit.
starpu_ssize_t limit() {
  const long mib = environment_number("STARPU_LIMIT_CPU_MEM", -1);
  return mib < 0 ? -1 : static_cast<starpu_ssize_t>(mib) << 20;
}

int take(size_t bytes, int flags) {
  std::unique_lock lock(memory_lock);
  const starpu_ssize_t most = limit();
  const auto fits = [&] { return most < 0 || used + bytes <= static_cast<size_t>(most); };
  if (flags & static_cast<int>(STARPU_MEMORY_WAIT)) memory_freed.wait(lock, fits);
  else if (!(flags & static_cast<int>(STARPU_MEMORY_OVERFLOW)) && !fits()) return -ENOMEM;
  used += bytes;
  return 0;
}

void give_back(size_t bytes) {
  {
    std::lock_guard lock(memory_lock);
    used -= std::min(bytes, used);
  }
  memory_freed.notify_all();
}

int allocate(void **out, size_t bytes, int flags) {
  *out = nullptr;
  const bool counts = flags & static_cast<int>(STARPU_MALLOC_COUNT);
  if (counts)
    if (const int rc = take(bytes, flags)) return rc;
  int rc = 0;
  if (own_malloc) rc = own_malloc(STARPU_MAIN_RAM, out, bytes, flags);
  else rc = posix_memalign(out, std::max(alignment, sizeof(void *)), bytes ? bytes : 1) ? -ENOMEM : 0;
  if (rc && counts) give_back(bytes);
  if (!rc && counts) {
    std::lock_guard lock(memory_lock);
    counted[*out] = bytes;
  }
  return rc;
}

int deallocate(void *ptr, size_t bytes, int flags) {
  if (!ptr) return 0;
  size_t counts = 0;
  {
    std::lock_guard lock(memory_lock);
    if (const auto at = counted.find(ptr); at != counted.end()) {
      counts = at->second;
      counted.erase(at);
    }
  }
  if (counts) give_back(counts);
  if (own_free) return own_free(STARPU_MAIN_RAM, ptr, bytes, flags);
  std::free(ptr);
  return 0;
}

void sleep_for(double seconds) {
  timespec t;
  t.tv_sec = static_cast<time_t>(seconds);
  t.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  while (nanosleep(&t, &t) < 0 && errno == EINTR) {
  }
}

}  // namespace
}  // namespace starpu_layer

using namespace starpu_layer;

int starpu_malloc(void **A, size_t dim) {
  return allocate(A, dim, static_cast<int>(STARPU_MALLOC_PINNED));
}
int starpu_malloc_flags(void **A, size_t dim, int flags) { return allocate(A, dim, flags); }
int starpu_free(void *A) { return deallocate(A, 0, static_cast<int>(STARPU_MALLOC_PINNED)); }
int starpu_free_flags(void *A, size_t dim, int flags) { return deallocate(A, dim, flags); }

void starpu_malloc_set_align(size_t align) {
  STARPU_ASSERT_MSG(align && !(align & (align - 1)), "the alignment must be a power of two");
  alignment = std::max(alignment, align);
}

void starpu_malloc_set_hooks(starpu_malloc_hook malloc_hook, starpu_free_hook free_hook) {
  own_malloc = malloc_hook;
  own_free = free_hook;
}

int starpu_memory_pin(void *addr, size_t size) {
  return instance.rt ? errno_of(consort_pin(instance.rt, addr, size, nullptr)) : 0;
}
int starpu_memory_unpin(void *addr, size_t) { return instance.rt ? errno_of(consort_unpin(instance.rt, addr)) : 0; }

starpu_ssize_t starpu_memory_get_total(unsigned node) { return node == STARPU_MAIN_RAM ? limit() : -1; }
starpu_ssize_t starpu_memory_get_total_all_nodes(void) { return limit(); }

starpu_ssize_t starpu_memory_get_available(unsigned node) {
  if (node != STARPU_MAIN_RAM || limit() < 0) return -1;
  std::lock_guard lock(memory_lock);
  return limit() - static_cast<starpu_ssize_t>(used);
}
starpu_ssize_t starpu_memory_get_available_all_nodes(void) { return starpu_memory_get_available(STARPU_MAIN_RAM); }

int starpu_memory_allocate(unsigned, size_t size, int flags) { return take(size, flags); }
void starpu_memory_deallocate(unsigned, size_t size) { give_back(size); }

void starpu_memory_wait_available(unsigned, size_t size) {
  std::unique_lock lock(memory_lock);
  const starpu_ssize_t most = limit();
  memory_freed.wait(lock, [&] { return most < 0 || used + size <= static_cast<size_t>(most); });
}

uintptr_t starpu_malloc_on_node_flags(unsigned dst_node, size_t size, int flags) {
  void *out = nullptr;
  if (dst_node != STARPU_MAIN_RAM || allocate(&out, size, flags)) return 0;
  return reinterpret_cast<uintptr_t>(out);
}
uintptr_t starpu_malloc_on_node(unsigned dst_node, size_t size) {
  return starpu_malloc_on_node_flags(dst_node, size, node_flags);
}
void starpu_free_on_node_flags(unsigned, uintptr_t addr, size_t size, int flags) {
  deallocate(reinterpret_cast<void *>(addr), size, flags);
}
void starpu_free_on_node(unsigned dst_node, uintptr_t addr, size_t size) {
  starpu_free_on_node_flags(dst_node, addr, size, node_flags);
}
void starpu_malloc_on_node_set_default_flags(unsigned, int flags) { node_flags = flags; }

void starpu_sleep(float nb_sec) { sleep_for(static_cast<double>(nb_sec)); }
void starpu_usleep(float nb_micro_sec) { sleep_for(static_cast<double>(nb_micro_sec) * 1e-6); }
