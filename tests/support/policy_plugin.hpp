// policy_plugin.hpp — the plugin record of a policy that a test defines: its name and its functions alone.
#pragma once
#include <consort/scheduler.h>

namespace consort_test {

constexpr consort_plugin policy_plugin(const char *name, const char *summary, const consort_scheduler_ops &ops,
                                       uint32_t flags = CONSORT_PF_SWAPPABLE) {
  return {
      .size = sizeof(consort_plugin), .kind = CONSORT_KIND_SCHEDULER,
      .abi_major = CONSORT_SCHEDULER_MAJOR, .abi_minor = CONSORT_SCHEDULER_MINOR,
      .flags = flags, .name = name, .version = "1.0", .summary = summary,
      .license = "Apache-2.0", .params = nullptr, .nparams = 0, .reserved = 0, .ops = &ops,
      .init = [](const consort_host *, void **out) -> consort_status { return *out = nullptr, CONSORT_OK; },
      .quiesce = [](void *, uint64_t) -> consort_status { return CONSORT_OK; },
      .fini = [](void *) {}, .get = nullptr,
  };
}

}  // namespace consort_test
