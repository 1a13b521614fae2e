// bundle.hpp — bundles: tasks that should run on the worker that runs the first of them.
//
// A bundle lives while it is open or one of its tasks is unfinished; its number is reused with the next generation. Any
// thread. Its lock is a leaf; `worker` is used without it by threads that run tasks.
#pragma once
#include <consort/consort.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.hpp"

namespace consort {

struct Bundle {
  std::atomic<uint32_t> worker{CONSORT_NONE};  // relaxed: a hint
  uint32_t number = 0, generation = 1;
  uint64_t tasks = 0;
  bool open = false;
};

class Bundles {
 public:
  Result<consort_bundle_id> create();                                  // may throw bad_alloc
  consort_status close(consort_bundle_id) noexcept;
  // one more task, or one of its own again; error text set on refusal
  consort_status enter(consort_bundle_id, bool member, Bundle **) noexcept;
  // one of its tasks has ended, or was refused later
  void leave(Bundle &) noexcept;

 private:
  Bundle *find(consort_bundle_id) noexcept;                            // precondition: the lock is held
  void free_if_over(Bundle &) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Bundle>> all_;
  std::vector<uint32_t> free_;                                         // has capacity for all
};

}  // namespace consort
