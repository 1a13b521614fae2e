// pinned.cpp — pinned.h: host memory prepared by drivers for copies.
#include <cinttypes>

#include "api/entry.hpp"

using namespace consort;

extern "C" {

consort_status consort_malloc(consort_runtime *shell, uint64_t bytes, uint32_t flags, void **out) {
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL: give a place for the address");
  *out = nullptr;
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (const uint32_t unknown = flags & ~uint32_t{CONSORT_MALLOC_ZERO | CONSORT_MALLOC_PINNED})
    return refuse_bits("flags", unknown, "CONSORT_MALLOC_ZERO and CONSORT_MALLOC_PINNED are what there is");
  if (bytes == 0) return set_error(CONSORT_E_INVAL, "0 bytes are no memory: ask for one at least");
  return guarded([&] {
    auto p = rt->pinned.take(bytes, flags);
    if (!p) return set_error(p.error());
    *out = *p;
    return consort_status{CONSORT_OK};
  });
}

consort_status consort_free(consort_runtime *shell, void *ptr) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!ptr || rt->pinned.give_back(ptr, true)) return CONSORT_OK;
  return set_errorf(CONSORT_E_INVAL,
                    "%p did not come from consort_malloc() of this runtime, or was given back already", ptr);
}

consort_status consort_pin(consort_runtime *shell, void *ptr, uint64_t bytes, uint32_t *ndevices) {
  if (ndevices) *ndevices = 0;
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  const auto at = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(ptr));
  if (!ptr || !bytes || at + bytes < at)
    return set_errorf(CONSORT_E_INVAL, "%" PRIu64 " bytes at %p are no buffer: give its address and its size", bytes, ptr);
  return guarded([&] {
    const auto n = rt->pinned.pin(at, bytes);
    if (!n) return set_error(n.error());
    if (ndevices) *ndevices = *n;
    return consort_status{CONSORT_OK};
  });
}

consort_status consort_unpin(consort_runtime *shell, void *ptr) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!ptr || rt->pinned.give_back(ptr, false)) return CONSORT_OK;
  return set_errorf(CONSORT_E_INVAL, "%p is not where a buffer begins that consort_pin() pinned, or is unpinned already",
                    ptr);
}

}  // extern "C"
