// settings.cpp — consort/settings.h: what a running runtime may change.
#include <consort/settings.h>

#include "api/entry.hpp"
#include "api/runtime.hpp"

using namespace consort;

extern "C" {

consort_status consort_runtime_set_profile(consort_runtime *shell, int32_t on, int32_t *was) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  {
    const std::lock_guard lock(rt->paths_mutex);
    if (was) *was = rt->profile;
    rt->profile = on != 0;
  }
  rt->choose_paths();
  return CONSORT_OK;
}

consort_status consort_runtime_set_ordered(consort_runtime *shell, int32_t ordered, int32_t *was) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  const bool before = rt->ordered_data.exchange(ordered != 0, std::memory_order_relaxed);
  if (was) *was = before;
  return CONSORT_OK;
}

}  // extern "C"
