// solo.hpp — the boot of a process that no launcher with PMIx has started.
#pragma once
#include <consort/plugin/host.hpp>
#include <consort/transport.h>

#include <cstdlib>
#include <string>

namespace pmix {

// Throws where a launcher has started several ranks without PMIx.
inline consort_boot solo() {
  for (const char *variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char *const text = secure_getenv(variable);
    if (text && std::atoi(text) > 1)
      throw consort::plugin::Error(CONSORT_E_UNSUPPORTED, std::string("a launcher has started ") + text + " ranks (" + variable +
          "), and offers no PMIx to them; use srun --mpi=pmix, mpirun of Open MPI, consort run, or transport = \"mpi\"");
  }
  consort_boot b{};
  b.size = sizeof b;
  b.nranks = 1;
  b.job = "alone";
  b.put = [](const consort_host *, const char *, const void *, uint32_t) -> consort_status { return CONSORT_OK; };
  b.get = [](const consort_host *, uint32_t, const char *, void *, uint32_t *, uint64_t) -> consort_status { return CONSORT_E_INVAL; };
  b.fence = [](const consort_host *, uint64_t) -> consort_status { return CONSORT_OK; };
  b.abort = [](const consort_host *, consort_status, const char *) {};
  return b;
}

}  // namespace pmix
