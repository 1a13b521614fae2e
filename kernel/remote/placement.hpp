// placement.hpp — the sequence of a job: on which rank a task runs, and what moves between ranks for it.
//
// All ranks call these functions with the same arguments in the same order, so each rank knows what the others do, without
// a message. Inside Job::Sequence, which the functions enter.
#pragma once
#include <consort/distributed.h>

#include "task/thread_state.hpp"

namespace consort {

struct Distribution;
struct Owned;
class Job;

consort_status submit_distributed(Distribution &, Job &, const consort_task_desc &, const consort_place *, consort_task_id *) noexcept;
consort_status distribute(Distribution &, Job &, consort_data_id, uint64_t tag, uint32_t owner) noexcept;
consort_status migrate(Distribution &, Job &, consort_data_id, uint32_t owner) noexcept;
consort_status fetch(Distribution &, Job &, consort_data_id, uint32_t rank) noexcept;
consort_status flush(Distribution &, Job &, consort_data_id) noexcept;
consort_status scatter(Distribution &, Job &, const consort_data_id *, uint32_t n, uint32_t root) noexcept;
consort_status gather(Distribution &, Job &, const consort_data_id *, uint32_t n, uint32_t root) noexcept;
consort_status broadcast(Distribution &, Job &, consort_data_id) noexcept;
consort_status reduce(Distribution &, Job &, const consort_data_id *, uint32_t n, consort_codelet_id combine) noexcept;
// Calls f on the owner of each, in place of a task that uses the datum there with this mode. f may throw bad_alloc.
using AtOwner = consort_status(void *arg, const Owned &);
consort_status at_owners(Distribution &, Job &, const consort_data_id *, uint32_t n, uint32_t mode, AtOwner *, void *arg) noexcept;
consort_status owner_of(Job &, consort_data_id, uint32_t *owner, uint64_t *tag) noexcept;

}  // namespace consort
