// checkpoints.cpp — checkpoint.h: data of a job stored in a folder, and read back.
#include <consort/checkpoint.h>

#include <cstring>

#include "api/entry.hpp"
#include "remote/checkpoints.hpp"

using namespace consort;

namespace {

// Runs f(checkpoints of the job), which returns a status. One thread at a time submits to a job.
template <class F>
consort_status with_checkpoints(consort_runtime *shell, ApiCall::Kind kind, F f) noexcept {
  const ApiCall rt(shell, kind);
  if (!rt) return refuse_shell(shell);
  if (!rt->joined.load(std::memory_order_acquire)) return set_error(CONSORT_E_INVAL, "this runtime is in no job: consort_job_join()");
  return guarded([&]() -> consort_status {
    const Checkpoints::Call mine(*rt->checkpoints);
    if (!mine) return set_error(CONSORT_E_BUSY, "another thread asks for a checkpoint: one thread at a time");
    return f(*rt->checkpoints);
  });
}

bool is_printable(const char *name) noexcept {
  size_t n = 0;
  for (; name[n] >= ' ' && name[n] <= '~'; ++n)
    if (n == kMostName) return false;
  return !name[n];
}

}  // namespace

extern "C" {

consort_status consort_checkpoint_found(consort_runtime *shell, consort_checkpoint_info *out) {
  return with_checkpoints(shell, ApiCall::kEnds, [&](Checkpoints &all) -> consort_status {
    if (!out || out->size < sizeof *out) return set_error(CONSORT_E_INVAL, "out is NULL, or its size is not set");
    return all.found(out);
  });
}

consort_status consort_checkpoint_save(consort_runtime *shell, const consort_checkpoint_desc *desc, consort_task_id *out) {
  return with_checkpoints(shell, ApiCall::kBegins, [&](Checkpoints &all) -> consort_status {
    if (!desc || desc->size < sizeof *desc) return set_error(CONSORT_E_INVAL, "desc is NULL or too small: begin with CONSORT_CHECKPOINT_INIT");
    if (desc->name && !is_printable(desc->name))
      return set_error(CONSORT_E_INVAL, "the name of a checkpoint is printable ASCII of at most 255 bytes");
    while (all.needs_token()) {
      consort_data_id token{};
      if (const consort_status s = consort_register_variable(shell, nullptr, sizeof(uint64_t), &token); s < 0) return s;
      if (const consort_status s = all.add_token(token); s < 0) return s;
    }
    return all.save(*desc, out);
  });
}

consort_status consort_checkpoint_restore(consort_runtime *shell, const consort_data_id *data, uint32_t n) {
  return with_checkpoints(shell, ApiCall::kBegins, [&](Checkpoints &all) { return all.restore(data, n); });
}

}  // extern "C"
