#include "memory/host_data.hpp"

#include "memory/data_management.hpp"
#include "plugin/registry.hpp"

namespace consort::sched {
namespace {

const PolicyMemory &memory_of(const consort_host *host) noexcept {
  return static_cast<DataManagement *>(static_cast<Core *>(host_user(host)))->memory.policies;
}

}  // namespace

void transfer_ns(const consort_host *host, const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces,
                 uint32_t ns, float *out) noexcept {
  memory_of(host).transfer_ns(tasks, nt, spaces, ns, out);
}

void resident(const consort_host *host, const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces,
              uint32_t ns, uint64_t *out) noexcept {
  const PolicyMemory &memory = memory_of(host);
  for (uint32_t t = 0; t < nt; ++t)
    for (uint32_t s = 0; s < ns; ++s) {
      uint64_t bytes = 0;
      for (uint32_t a = 0; a < tasks[t]->naccess; ++a) {
        const Datum &d = *Datum::of(tasks[t]->access[a].datum);
        if (memory.valid_in(d, spaces[s])) bytes += d.pub.bytes;
      }
      *out++ = bytes;
    }
}

void lacking(const consort_host *host, const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces,
             uint32_t ns, uint64_t *out) noexcept {
  memory_of(host).lacking(tasks, nt, spaces, ns, out);
}

void room(const consort_host *host, const uint32_t *spaces, uint32_t ns, consort_room *out) noexcept {
  for (uint32_t i = 0; i < ns; ++i) out[i] = memory_of(host).room(spaces[i]);
}

void prefetch(const consort_host *host, const consort_task *task, uint32_t space, int32_t priority) noexcept {
  memory_of(host).prefetch(*reinterpret_cast<const Task *>(task), space, priority);
}

void unneeded(const consort_host *host, uint64_t data, uint32_t space) noexcept {
  memory_of(host).unneeded({data}, space);
}

}  // namespace consort::sched
