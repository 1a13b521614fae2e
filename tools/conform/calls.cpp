#include "conform/calls.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace conform {
namespace {

struct Watched {
  const char *name;
  Calls::Kind kind;
};

// Allocation functions: first the ones that return NULL on failure, then the ones that throw.
constexpr Watched kWatched[] = {
    {"malloc", Calls::kMemory},
    {"calloc", Calls::kMemory},
    {"realloc", Calls::kMemory},
    {"aligned_alloc", Calls::kMemory},
    {"posix_memalign", Calls::kMemory},
    {"memalign", Calls::kMemory},
    {"strdup", Calls::kMemory},
    {"_ZnwmRKSt9nothrow_t", Calls::kMemory},
    {"_ZnamRKSt9nothrow_t", Calls::kMemory},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", Calls::kMemory},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", Calls::kMemory},
    {"_Znwm", Calls::kMemory},
    {"_Znam", Calls::kMemory},
    {"_ZnwmSt11align_val_t", Calls::kMemory},
    {"_ZnamSt11align_val_t", Calls::kMemory},
    {"nanosleep", Calls::kBlocking},
    {"clock_nanosleep", Calls::kBlocking},
    {"usleep", Calls::kBlocking},
    {"sleep", Calls::kBlocking},
    {"poll", Calls::kBlocking},
    {"ppoll", Calls::kBlocking},
    {"select", Calls::kBlocking},
    {"epoll_wait", Calls::kBlocking},
    {"read", Calls::kBlocking},
    {"write", Calls::kBlocking},
    {"open", Calls::kBlocking},
    {"open64", Calls::kBlocking},
    {"fopen", Calls::kBlocking},
    {"fopen64", Calls::kBlocking},
    {"fwrite", Calls::kBlocking},
    {"pthread_cond_wait", Calls::kBlocking},
    {"pthread_cond_timedwait", Calls::kBlocking},
    {"pthread_cond_clockwait", Calls::kBlocking},
    {"sem_wait", Calls::kBlocking},
    {"pthread_join", Calls::kBlocking},
    {"_ZNSt6thread4joinEv", Calls::kBlocking},
    {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", Calls::kBlocking},
    {"_ZNSt11this_thread11__sleep_forENSt6chrono8durationIlSt5ratioILl1ELl1EEEENS1_IlS2_ILl1ELl1000000000EEEE", Calls::kBlocking},
    {"clock_gettime", Calls::kClock},
    {"gettimeofday", Calls::kClock},
    {"time", Calls::kClock},
    {"clock", Calls::kClock},
    {"_ZNSt6chrono3_V212steady_clock3nowEv", Calls::kClock},
    {"_ZNSt6chrono3_V212system_clock3nowEv", Calls::kClock},
    {"pthread_create", Calls::kThread},
    {"thrd_create", Calls::kThread},
    {"fork", Calls::kThread},
    {"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", Calls::kThread},
    {"rand", Calls::kChance},
    {"random", Calls::kChance},
    {"getrandom", Calls::kChance},
    {"arc4random", Calls::kChance},
    {"_ZNSt13random_device9_M_getvalEv", Calls::kChance},
};
constexpr size_t kCount = std::size(kWatched), kMemalign = 4, kFirstThatThrows = 11, kTags = 6;
static_assert(std::string_view(kWatched[kMemalign].name) == "posix_memalign" && std::string_view(kWatched[kFirstThatThrows].name) == "_Znwm");

using Word = uintptr_t;
using Function = Word (*)(Word, Word, Word, Word, Word, Word);

Function theirs[kCount];                                    // written by attach(), before any call
std::atomic<uint64_t> counts[kCount][kTags];
std::atomic<const char *> callers[kCount][kTags];           // the latest caller
std::atomic<uint64_t> allocated{0}, fails_at{0};

template <size_t k>
Word note_and_call(Word a, Word b, Word c, Word d, Word e, Word f) {
  constexpr bool is_memory = kWatched[k].kind == Calls::kMemory;
  const auto tag = static_cast<size_t>(Inside::tag());
  counts[k][tag].fetch_add(1, std::memory_order_relaxed);
  callers[k][tag].store(Inside::function(), std::memory_order_relaxed);
  if constexpr (is_memory)
    if (allocated.fetch_add(1, std::memory_order_relaxed) + 1 == fails_at.load(std::memory_order_relaxed)) {
      if constexpr (k >= kFirstThatThrows) throw std::bad_alloc();
      return k == kMemalign ? ENOMEM : 0;        // it returns a status
    }
  return theirs[k](a, b, c, d, e, f);
}

template <size_t... k>
constexpr void fill(Function *ours, std::index_sequence<k...>) {
  ((ours[k] = note_and_call<k>), ...);
}

bool turn(void **slot, Function to) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *begin = reinterpret_cast<void *>(reinterpret_cast<Word>(slot) / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;  // it may be read-only after relocation
  *slot = reinterpret_cast<void *>(to);
  return true;
}

struct Tables {
  const Elf64_Sym *symbols = nullptr;
  const char *names = nullptr;
  const Elf64_Rela *relocations[2] = {nullptr, nullptr};
  size_t bytes[2] = {0, 0};
};

bool is_slot(uint32_t type) {
#if defined(__x86_64__)
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
#else
  return type != type;
#endif
}

}  // namespace

bool Calls::attach(const std::string &path) {
#if !defined(__x86_64__) && !defined(__aarch64__)
  return false;
#endif
  const std::string place = path.find('/') == path.npos ? "./" + path : path;
  void *handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  link_map *map = nullptr;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return false;
  Function ours[kCount];
  fill(ours, std::make_index_sequence<kCount>());
  Tables t;
  for (const Elf64_Dyn *d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    const auto *p = reinterpret_cast<const char *>(d->d_un.d_ptr);
    if (d->d_tag == DT_SYMTAB) t.symbols = reinterpret_cast<const Elf64_Sym *>(p);
    if (d->d_tag == DT_STRTAB) t.names = p;
    if (d->d_tag == DT_JMPREL) t.relocations[0] = reinterpret_cast<const Elf64_Rela *>(p);
    if (d->d_tag == DT_PLTRELSZ) t.bytes[0] = d->d_un.d_val;
    if (d->d_tag == DT_RELA) t.relocations[1] = reinterpret_cast<const Elf64_Rela *>(p);
    if (d->d_tag == DT_RELASZ) t.bytes[1] = d->d_un.d_val;
  }
  if (!t.symbols || !t.names) return false;
  for (int kind = 0; kind < 2; ++kind)
    for (size_t i = 0; t.relocations[kind] && i < t.bytes[kind] / sizeof(Elf64_Rela); ++i) {
      const Elf64_Rela &r = t.relocations[kind][i];
      if (!is_slot(ELF64_R_TYPE(r.r_info))) continue;
      const char *name = t.names + t.symbols[ELF64_R_SYM(r.r_info)].st_name;
      auto **slot = reinterpret_cast<void **>(map->l_addr + r.r_offset);
      for (size_t k = 0; k < kCount; ++k)
        if (!std::strcmp(name, kWatched[k].name) && *slot != reinterpret_cast<void *>(ours[k])) {
          theirs[k] = reinterpret_cast<Function>(*slot);
          if (theirs[k] && !turn(slot, ours[k])) return false;
        }
    }
  return true;
}

std::vector<Calls::Seen> Calls::seen() {
  std::vector<Seen> all;
  for (size_t k = 0; k < kCount; ++k)
    for (size_t tag = 0; tag < kTags; ++tag)
      if (const uint64_t n = counts[k][tag]) {
        const char *caller = callers[k][tag];
        all.push_back({kWatched[k].kind, static_cast<Tag>(tag), caller ? caller : "", kWatched[k].name, n});
      }
  return all;
}

void Calls::forget() {
  for (auto &row : counts)
    for (auto &n : row) n = 0;
}

uint64_t Calls::allocations() { return allocated; }

void Calls::fail_allocation(uint64_t k) {
  allocated = 0;
  fails_at = k;
}

bool Calls::has_failed() { return fails_at && allocated >= fails_at; }

}  // namespace conform
