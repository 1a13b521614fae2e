// distributed.cpp — distributed.h: jobs of several ranks.
#include <consort/distributed.h>

#include "api/entry.hpp"
#include "exec/wait.hpp"
#include "remote/placement.hpp"

using namespace consort;

namespace {

// Runs f(runtime, job), which returns a status.
template <class F>
consort_status with_job(consort_runtime *shell, ApiCall::Kind kind, F f) noexcept {
  const ApiCall rt(shell, kind);
  if (!rt) return refuse_shell(shell);
  Job *const job = rt->joined.load(std::memory_order_acquire);
  if (!job) return set_error(CONSORT_E_INVAL, "this runtime is in no job: consort_job_join()");
  return guarded([&]() -> consort_status { return f(*rt, *job); });
}

consort_status submit_end(consort_runtime *shell, const consort_message *m, consort_task_id *out, bool is_send) noexcept {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) -> consort_status {
    if (!m || m->size < sizeof *m) return set_error(CONSORT_E_INVAL, "the message is NULL or too small: begin with CONSORT_MESSAGE_INIT");
    const uint32_t unknown = m->flags & ~uint32_t{CONSORT_MESSAGE_SYNC};
    if (unknown || m->reserved) return refuse_bits("message->flags", unknown | m->reserved, "CONSORT_MESSAGE_SYNC is what there is");
    ThreadState *thread = rt.this_thread();
    if (!thread) return CONSORT_E_NOMEM;
    const Job::Options options{m->group, m->done, m->done_arg, (m->flags & CONSORT_MESSAGE_SYNC) != 0};
    TaskName name = 0;
    const consort_status s = is_send ? job.send(*thread, m->data, m->rank, MessageKey::kExplicit, m->tag, options, &name)
                                     : job.receive(*thread, m->data, m->rank, MessageKey::kExplicit, m->tag, options, &name);
    if (s >= 0 && out) out->v = name;
    return s;
  });
}

}  // namespace

extern "C" {

consort_status consort_job_join(consort_runtime *shell, const consort_job_desc *desc) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (desc && desc->size < sizeof *desc) return set_error(CONSORT_E_INVAL, "desc is too small: begin with CONSORT_JOB_DESC_INIT");
  if (desc && desc->flags) return refuse_bits("desc->flags", desc->flags, "there are none yet");
  if (const consort_status s = refuse_inside(*rt, "the other ranks"); s < 0) return s;
  return guarded([&]() -> consort_status {
    JobSettings settings;
    if (desc) settings = {desc->boot, desc->transport ? desc->transport : "", desc->timeout_ns};
    return Job::join(*rt, settings);
  });
}

consort_status consort_job_get(consort_runtime *shell, consort_job_info *out) {
  return with_job(shell, ApiCall::kEnds, [&](Runtime &, Job &job) -> consort_status {
    if (!out || out->size < sizeof *out) return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not set");
    *out = {sizeof *out, job.rank(), job.ranks(), 0, job.name() ? job.name() : "", job.transport().c_str()};
    return CONSORT_OK;
  });
}

consort_status consort_job_rank(consort_runtime *shell, uint32_t rank, const char **host) {
  return with_job(shell, ApiCall::kEnds, [&](Runtime &, Job &job) -> consort_status {
    if (rank >= job.ranks()) return set_errorf(CONSORT_E_INVAL, "the job has no rank %u: there are %u, from 0", rank, job.ranks());
    if (host) *host = job.host(rank).c_str();
    std::string how;
    const consort_status s = job.state_of(rank, &how);
    return s < 0 ? set_error(s, how) : CONSORT_OK;
  });
}

consort_status consort_job_barrier(consort_runtime *shell, int64_t timeout_ns) {
  return with_job(shell, ApiCall::waits(timeout_ns), [&](Runtime &rt, Job &job) -> consort_status {
    if (const consort_status s = refuse_inside(rt, "the other ranks"); s < 0) return s;
    ThreadState *thread = rt.this_thread();
    if (!thread) return CONSORT_E_NOMEM;
    TaskName name;
    if (const consort_status s = job.barrier(*thread, &name); s < 0) return s;
    if (const consort_status s = wait_task(rt, name, timeout_ns, 0, "consort_job_barrier()"); s < 0) return s;
    const auto f = rt.failures.find(name);
    return f ? answer_failure(*f, 0) : CONSORT_OK;
  });
}

consort_status consort_job_abort(consort_runtime *shell, const char *why) {
  return with_job(shell, ApiCall::kEnds, [&](Runtime &rt, Job &job) -> consort_status {
    const consort_boot *const boot = job.boot();
    if (!boot->abort) return set_error(CONSORT_E_UNSUPPORTED, "no launcher can end this job");
    boot->abort(rt.codelet_host->table(), CONSORT_E_CANCELLED, why ? why : "");
    return CONSORT_OK;
  });
}

consort_status consort_data_distribute(consort_runtime *shell, consort_data_id data, uint64_t tag, uint32_t owner) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) { return distribute(rt, job, data, tag, owner); });
}

consort_status consort_data_owner(consort_runtime *shell, consort_data_id data, uint32_t *owner, uint64_t *tag) {
  return with_job(shell, ApiCall::kEnds, [&](Runtime &, Job &job) { return owner_of(job, data, owner, tag); });
}

consort_status consort_data_migrate(consort_runtime *shell, consort_data_id data, uint32_t owner) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) { return migrate(rt, job, data, owner); });
}

consort_status consort_data_fetch(consort_runtime *shell, consort_data_id data, uint32_t rank) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) { return fetch(rt, job, data, rank); });
}

consort_status consort_data_flush(consort_runtime *shell, consort_data_id data) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) { return flush(rt, job, data); });
}

consort_status consort_data_scatter(consort_runtime *shell, const consort_data_id *data, uint32_t n, uint32_t root) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) { return scatter(rt, job, data, n, root); });
}

consort_status consort_data_gather(consort_runtime *shell, const consort_data_id *data, uint32_t n, uint32_t root) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) { return gather(rt, job, data, n, root); });
}

consort_status consort_data_broadcast(consort_runtime *shell, consort_data_id data) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) { return broadcast(rt, job, data); });
}

consort_status consort_data_reduce(consort_runtime *shell, const consort_data_id *parts, uint32_t n, consort_codelet_id combine) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) { return reduce(rt, job, parts, n, combine); });
}

consort_status consort_job_submit(consort_runtime *shell, const consort_task_desc *task, const consort_place *place,
                                  consort_task_id *out) {
  return with_job(shell, ApiCall::kBegins, [&](Runtime &rt, Job &job) -> consort_status {
    if (!task) return set_error(CONSORT_E_INVAL, "the task's description is NULL");
    if (place && place->size < sizeof *place) return set_error(CONSORT_E_INVAL, "place is too small: begin with CONSORT_PLACE_INIT");
    if (task->nuses && !task->uses) return set_error(CONSORT_E_INVAL, "uses is NULL, but nuses is not 0");
    return submit_distributed(rt, job, *task, place, out);
  });
}

consort_status consort_send(consort_runtime *shell, const consort_message *message, consort_task_id *out) {
  return submit_end(shell, message, out, true);
}

consort_status consort_receive(consort_runtime *shell, const consort_message *message, consort_task_id *out) {
  return submit_end(shell, message, out, false);
}

}  // extern "C"
