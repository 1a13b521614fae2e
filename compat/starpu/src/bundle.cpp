// Bundles of tasks that should run on one worker.
#include "bundle.hpp"

#include <cerrno>

#include "instance.hpp"

// Kept until the end of the program, since tasks that are submitted again name it again.
struct _starpu_task_bundle {
  consort_bundle_id id{0};
  std::atomic<bool> closed{false};
  std::atomic<int> waiting{0};  // tasks that were inserted and not yet submitted
};

namespace starpu_layer {

consort_bundle_id bundle_id(starpu_task_bundle_t bundle) { return bundle->id; }

void bundle_submitted(starpu_task_bundle_t bundle) {
  if (--bundle->waiting == 0 && bundle->closed) consort_bundle_close(instance.rt, bundle->id);
}

}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_task_bundle_create(starpu_task_bundle_t *bundle) {
  static std::mutex lock;
  static std::vector<std::unique_ptr<_starpu_task_bundle>> all;
  {
    std::lock_guard guard(lock);
    *bundle = all.emplace_back(std::make_unique<_starpu_task_bundle>()).get();
  }
  must(consort_bundle_create(instance.rt, &(*bundle)->id), "starpu_task_bundle_create");
}

int starpu_task_bundle_insert(starpu_task_bundle_t bundle, struct starpu_task *task) {
  if (bundle->closed) return -EPERM;
  if (task->status != STARPU_TASK_INIT) return -EINVAL;
  task->bundle = bundle;
  ++bundle->waiting;
  return 0;
}

int starpu_task_bundle_remove(starpu_task_bundle_t bundle, struct starpu_task *task) {
  if (bundle->closed || task->bundle != bundle) return -ENOENT;
  task->bundle = nullptr;
  --bundle->waiting;
  return 0;
}

void starpu_task_bundle_close(starpu_task_bundle_t bundle) {
  bundle->closed = true;
  if (bundle->waiting == 0) consort_bundle_close(instance.rt, bundle->id);
}
