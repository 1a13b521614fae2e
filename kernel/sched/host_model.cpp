#include "sched/host_model.hpp"

#include "model/models.hpp"
#include "sched/scheduling.hpp"

namespace consort::sched {
namespace {

void estimate(const consort_host *host, uint32_t what, const consort_task *const *tasks, uint32_t nt,
              const uint32_t *workers, uint32_t nw, uint32_t impl, float *out) {
  Models &models = *scheduling_of(host).models;
  models.asked();
  for (uint32_t t = 0; t < nt; ++t, out += nw)
    models.estimate(*reinterpret_cast<const Task *>(tasks[t]), what, workers, nw, impl, out);
}

}  // namespace

void expected_ns(const consort_host *host, const consort_task *const *tasks, uint32_t nt, const uint32_t *workers,
                 uint32_t nw, uint32_t impl, float *out) {
  estimate(host, CONSORT_MODEL_TIME, tasks, nt, workers, nw, impl, out);
}

void energy_uj(const consort_host *host, const consort_task *const *tasks, uint32_t nt, const uint32_t *workers,
               uint32_t nw, uint32_t impl, float *out) {
  estimate(host, CONSORT_MODEL_ENERGY, tasks, nt, workers, nw, impl, out);
}

void load_ns(const consort_host *host, const uint32_t *workers, uint32_t nw, float *out) {
  Scheduling &rt = scheduling_of(host);
  rt.models->asked();
  rt.models->load(workers, nw, out);
  // A worker that stages data has a task that has not begun: its load is above 0, but unknown.
  for (uint32_t i = 0; i < nw; ++i)
    if (out[i] == 0 && workers[i] < rt.workers.size() && rt.workers[workers[i]]->staging.load(std::memory_order_relaxed)) out[i] = 1;
}

}  // namespace consort::sched
