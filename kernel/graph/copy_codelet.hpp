// copy_codelet.hpp — the kernel's codelet that copies a datum's contents to another of equal layout and sizes.
//
// Added at its first use, for every class of units whose functions the kernel calls itself. Any thread.
#pragma once
#include <consort/consort.h>

#include <mutex>

#include "base/result.hpp"

namespace consort {

struct TaskGraph;

class CopyCodelets {
 public:
  explicit CopyCodelets(TaskGraph &rt) : rt_(rt) {}
  // may throw bad_alloc
  consort_status submit(consort_data_id dst, consort_data_id src, consort_group_id, consort_task_id *out);

 private:
  Result<consort_codelet_id> codelet();

  TaskGraph &rt_;
  std::mutex mutex_;
  consort_codelet_id codelet_{0};
};

}  // namespace consort
