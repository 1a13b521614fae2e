#include "storm/faults.hpp"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstring>

#include "stress/mixed_site.hpp"
#if CONSORT_SAN  // sanitizers replace malloc themselves
#include "support/replace_new.hpp"
#else
#include "support/replace_malloc.hpp"
#endif

namespace storm {
namespace {

// Tests of one runtime after another: relaxed is enough, the counters order nothing.
std::atomic<long> countdown{-1};  // -1: not armed
std::atomic<bool> struck{false};
std::atomic<uint64_t> counted{0};
Effects seen;

// The dynamic loader's code. It allocates objects that this process has not had yet, such as the thread-local memory of
// a thread on a new stack. That depends on the cases that ran before, and is not counted.
struct Loader {
  uintptr_t from = getauxval(AT_BASE), to = from;
  Loader() {
    if (!from) return;
    const auto &header = *reinterpret_cast<const ElfW(Ehdr) *>(from);
    const auto *segments = reinterpret_cast<const ElfW(Phdr) *>(from + header.e_phoff);
    for (int i = 0; i < header.e_phnum; ++i)
      if (segments[i].p_type == PT_LOAD) to = std::max(to, from + segments[i].p_vaddr + segments[i].p_memsz);
  }
  bool has(const void *address) const { return reinterpret_cast<uintptr_t>(address) - from < to - from; }
};

[[maybe_unused]] bool fails(const void *caller) {
  if (!mixed::allocations_may_fail) return false;
  static const Loader loader;
  if (loader.has(caller)) return false;
  counted.fetch_add(1, std::memory_order_relaxed);
  if (countdown.load(std::memory_order_relaxed) < 0) return false;
  if (countdown.fetch_sub(1, std::memory_order_relaxed) != 0) return false;
  ++seen.allocation;
  struck.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

void arm_allocation(long nth) { countdown.store(nth, std::memory_order_relaxed); }
void disarm_allocation() { countdown.store(-1, std::memory_order_relaxed); }
uint64_t allocations() { return counted.load(std::memory_order_relaxed); }
const Effects &effects() { return seen; }
void forget_effects() {
  seen = {};
  counted.store(0, std::memory_order_relaxed);
  struck.store(false, std::memory_order_relaxed);
}
bool struck_since_last_asked() { return struck.exchange(false, std::memory_order_relaxed); }

void look_at_text(const char *text) {
  if (std::strstr(text, "as set by faults")) ++seen.demanded;
}
void log_line(void *, int32_t, const char *text) {
  if (std::strstr(text, "disk fault strikes")) ++seen.disk;
  if (std::strstr(text, "faults = strikes")) ++seen.demanded;
  if (std::strstr(text, "on purpose")) {
    ++seen.plugin;
    struck.store(true, std::memory_order_relaxed);
  }
  if (std::strstr(text, "is lost")) ++seen.lost;
  look_at_text(text);
}

}  // namespace storm

bool consort_test::allocation_fails(const void *caller) { return storm::fails(caller); }
