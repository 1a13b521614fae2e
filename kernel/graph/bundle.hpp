// bundle.hpp — tasks that had better run on one worker: the one that runs the first of them.
//
// Lives while it is open or a task of it is unfinished; a number is used again with the next generation. Any thread;
// its lock is a leaf, but for `worker`, which those who run tasks touch.
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
  // one more task, or one of its own again; told
  consort_status enter(consort_bundle_id, bool member, Bundle **) noexcept;
  // one of its tasks has ended, or was refused after all
  void leave(Bundle &) noexcept;

 private:
  Bundle *find(consort_bundle_id) noexcept;                            // under the lock
  void free_if_over(Bundle &) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Bundle>> all_;
  std::vector<uint32_t> free_;                                         // has room for all
};

}  // namespace consort
