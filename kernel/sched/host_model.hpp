// host_model.hpp — the part of consort.sched/1 that models answer: times of tasks, loads of workers.
//
// Any thread; takes no lock and allocates nothing. The first question turns measuring on.
#pragma once
#include <consort/scheduler.h>

namespace consort::sched {

void expected_ns(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *workers, uint32_t nw,
                 uint32_t impl, float *out);
void energy_uj(const consort_host *, const consort_task *const *, uint32_t nt, const uint32_t *workers, uint32_t nw,
               uint32_t impl, float *out);
void load_ns(const consort_host *, const uint32_t *workers, uint32_t nw, float *out);

}  // namespace consort::sched
