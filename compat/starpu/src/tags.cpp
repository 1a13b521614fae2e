// Tags: events with numbers of the program's choice.
#include "tags.hpp"

#include <cerrno>
#include <cstdarg>
#include <unordered_map>

#include "instance.hpp"

namespace starpu_layer {
namespace {

std::mutex tag_lock;
std::unordered_map<starpu_tag_t, starpu_task *> carriers;

void declare(starpu_tag_t id, unsigned n, const starpu_tag_t *others) {
  must(consort_tag_after(instance.rt, id, others, n), "starpu_tag_declare_deps");
}

}  // namespace

void prepare_tag(starpu_tag_t tag, starpu_task *task) {
  bool before;
  {
    std::lock_guard lock(tag_lock);
    before = !carriers.insert_or_assign(tag, task).second;
  }
  if (before) consort_tag_restart(instance.rt, tag);
}

void forget_tags() {
  std::lock_guard lock(tag_lock);
  carriers.clear();
}

}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_tag_declare_deps_array(starpu_tag_t id, unsigned ndeps, starpu_tag_t *array) { declare(id, ndeps, array); }

void starpu_tag_declare_deps(starpu_tag_t id, unsigned ndeps, ...) {
  std::vector<starpu_tag_t> others(ndeps);
  va_list args;
  va_start(args, ndeps);
  for (starpu_tag_t &t : others) t = va_arg(args, starpu_tag_t);
  va_end(args);
  declare(id, ndeps, others.data());
}

int starpu_tag_wait_array(unsigned ntags, starpu_tag_t *id) {
  if (must_not_wait()) return -EDEADLK;
  consort_tag_wait(instance.rt, id, ntags, CONSORT_FOREVER, CONSORT_WAIT_NO_HELP | CONSORT_WAIT_KEEP_FAILURE);
  return 0;
}

int starpu_tag_wait(starpu_tag_t id) { return starpu_tag_wait_array(1, &id); }
void starpu_tag_restart(starpu_tag_t id) { consort_tag_restart(instance.rt, id); }

void starpu_tag_remove(starpu_tag_t id) {
  {
    std::lock_guard lock(tag_lock);
    carriers.erase(id);
  }
  consort_tag_remove(instance.rt, id);
}

void starpu_tag_notify_from_apps(starpu_tag_t id) {
  must(consort_tag_notify(instance.rt, id), "starpu_tag_notify_from_apps");
}

void starpu_tag_notify_restart_from_apps(starpu_tag_t id) {
  starpu_tag_notify_from_apps(id);
  consort_tag_restart(instance.rt, id);
}

struct starpu_task *starpu_tag_get_task(starpu_tag_t id) {
  std::lock_guard lock(tag_lock);
  const auto found = carriers.find(id);
  return found == carriers.end() ? nullptr : found->second;
}
