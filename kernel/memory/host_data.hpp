// host_data.hpp — the functions of consort.sched/1 about data: locations, costs of transfers, hints.
//
// [any], under any lock of the policy: takes no lock and allocates nothing.
#pragma once
#include <consort/scheduler.h>

namespace consort::sched {

void transfer_ns(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                 float *out) noexcept;
void resident(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
              uint64_t *out) noexcept;
void lacking(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
             uint64_t *out) noexcept;
void room(const consort_host *, const uint32_t *spaces, uint32_t ns, consort_room *out) noexcept;
void prefetch(const consort_host *, const consort_task *, uint32_t space, int32_t priority) noexcept;
void unneeded(const consort_host *, uint64_t data, uint32_t space) noexcept;

}  // namespace consort::sched
