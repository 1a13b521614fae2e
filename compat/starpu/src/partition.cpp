// Partitions. Consort orders a datum and its parts by itself, so the calls that submit a change of state have little to do.
#include <cstdarg>

#include "filters.hpp"
#include "handle.hpp"
#include "layouts.hpp"

namespace starpu_layer {
namespace {

Plan make_plan(starpu_data_handle_t whole, const starpu_data_filter &filter) {
  const Division *division = division_of(whole, filter);
  const std::string name = filter_name(*division);
  consort_plan_desc desc = CONSORT_PLAN_INIT;
  desc.filter = name.c_str();
  desc.params = &division;
  desc.params_bytes = sizeof division;
  Plan plan;
  must(consort_plan_create(instance.rt, whole->id, &desc, &plan.id), "starpu_data_partition_plan");
  std::vector<consort_data_id> ids(division->parts);
  must(static_cast<consort_status>(consort_plan_parts(instance.rt, plan.id, ids.data(), division->parts)),
       "starpu_data_partition_plan");
  for (uint32_t i = 0; i < division->parts; ++i) {
    auto *part = new _starpu_data_state;
    part->id = ids[i];
    part->kind = division->child;
    divide(*division, whole->home, i, part->home);
    if (!pointer_of(whole->home) && is_dense(part->home)) part->home.variable.ptr = part->home.variable.dev_handle = part->home.variable.offset = 0;
    part->home_node = whole->home_node;
    part->written = whole->written.load();
    part->ordered = whole->ordered.load();
    part->init_cl = nullptr;
    part->father = whole;
    plan.parts.push_back(part);
  }
  return plan;
}

void free_parts(Plan &plan) {
  for (starpu_data_handle_t part : plan.parts) {
    drop_plans(part);
    delete part;
  }
  plan.parts.clear();
}

// The plan that these children are of; takes it from the whole.
Plan taken(starpu_data_handle_t whole, unsigned n, starpu_data_handle_t *children) {
  for (size_t i = 0; i < whole->plans.size(); ++i) {
    if (whole->plans[i].parts.size() != n || (n && whole->plans[i].parts[0] != children[0])) continue;
    Plan plan = std::move(whole->plans[i]);
    whole->plans.erase(whole->plans.begin() + static_cast<std::ptrdiff_t>(i));
    return plan;
  }
  STARPU_ABORT_MSG("these are not the children of one partition of the handle");
}

void map_filters(starpu_data_handle_t whole, const std::vector<starpu_data_filter *> &filters, size_t depth) {
  if (depth == filters.size()) return;
  starpu_data_partition(whole, filters[depth]);
  for (int i = 0; i < starpu_data_get_nb_children(whole); ++i)
    map_filters(starpu_data_get_child(whole, static_cast<unsigned>(i)), filters, depth + 1);
}

}  // namespace

void drop_plans(starpu_data_handle_t handle) {
  for (Plan &plan : handle->plans) free_parts(plan);
  handle->plans.clear();
}

}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_data_partition(starpu_data_handle_t initial_handle, struct starpu_data_filter *f) {
  STARPU_ASSERT_MSG(!initial_handle->partitioned, "the handle is partitioned already");
  initial_handle->plans.push_back(make_plan(initial_handle, *f));
  initial_handle->partitioned = true;
}

void starpu_data_unpartition(starpu_data_handle_t root_data, unsigned) {
  STARPU_ASSERT_MSG(root_data->partitioned, "the handle is not partitioned");
  for (starpu_data_handle_t part : root_data->plans.back().parts)
    if (part->partitioned) starpu_data_unpartition(part, STARPU_MAIN_RAM);
  if (!must_not_wait() && acquire(root_data, STARPU_RW) == 0) release(root_data);
  Plan plan = std::move(root_data->plans.back());
  root_data->plans.pop_back();
  root_data->partitioned = false;
  must(consort_plan_destroy(instance.rt, plan.id), "starpu_data_unpartition");
  free_parts(plan);
}

int starpu_data_get_nb_children(starpu_data_handle_t handle) {
  return handle->partitioned ? static_cast<int>(handle->plans.back().parts.size()) : 0;
}

starpu_data_handle_t starpu_data_get_child(starpu_data_handle_t handle, unsigned i) {
  STARPU_ASSERT_MSG(static_cast<int>(i) < starpu_data_get_nb_children(handle), "the handle has no child %u", i);
  return handle->plans.back().parts[i];
}

starpu_data_handle_t starpu_data_vget_sub_data(starpu_data_handle_t root_data, unsigned depth, va_list pa) {
  starpu_data_handle_t at = root_data;
  for (unsigned d = 0; d < depth; ++d) at = starpu_data_get_child(at, va_arg(pa, unsigned));
  return at;
}

starpu_data_handle_t starpu_data_get_sub_data(starpu_data_handle_t root_data, unsigned depth, ...) {
  va_list args;
  va_start(args, depth);
  starpu_data_handle_t found = starpu_data_vget_sub_data(root_data, depth, args);
  va_end(args);
  return found;
}

void starpu_data_vmap_filters(starpu_data_handle_t root_data, unsigned nfilters, va_list pa) {
  std::vector<starpu_data_filter *> filters(nfilters);
  for (starpu_data_filter *&f : filters) f = va_arg(pa, starpu_data_filter *);
  map_filters(root_data, filters, 0);
}

void starpu_data_map_filters(starpu_data_handle_t root_data, unsigned nfilters, ...) {
  va_list args;
  va_start(args, nfilters);
  starpu_data_vmap_filters(root_data, nfilters, args);
  va_end(args);
}

void starpu_data_partition_plan(starpu_data_handle_t initial_handle, struct starpu_data_filter *f,
                                starpu_data_handle_t *children) {
  Plan plan = make_plan(initial_handle, *f);
  for (size_t i = 0; i < plan.parts.size(); ++i) children[i] = plan.parts[i];
  initial_handle->plans.insert(initial_handle->plans.begin(), std::move(plan));
}

void starpu_data_partition_clean(starpu_data_handle_t root_data, unsigned nparts, starpu_data_handle_t *children) {
  Plan plan = taken(root_data, nparts, children);
  must(consort_plan_destroy(instance.rt, plan.id), "starpu_data_partition_clean");
  free_parts(plan);
}

void starpu_data_partition_submit(starpu_data_handle_t, unsigned, starpu_data_handle_t *) {}
void starpu_data_partition_readonly_submit(starpu_data_handle_t, unsigned, starpu_data_handle_t *) {}
void starpu_data_partition_readwrite_upgrade_submit(starpu_data_handle_t, unsigned, starpu_data_handle_t *) {}
void starpu_data_partition_submit_sequential_consistency(starpu_data_handle_t, unsigned, starpu_data_handle_t *, int) {}
void starpu_data_unpartition_submit(starpu_data_handle_t, unsigned, starpu_data_handle_t *, int) {}
void starpu_data_unpartition_submit_r(starpu_data_handle_t, int) {}
void starpu_data_unpartition_readonly_submit(starpu_data_handle_t, unsigned, starpu_data_handle_t *, int) {}
void starpu_data_unpartition_submit_sequential_consistency(starpu_data_handle_t, unsigned, starpu_data_handle_t *, int,
                                                           int) {}

void starpu_data_unpartition_submit_sequential_consistency_cb(starpu_data_handle_t initial_handle, unsigned,
                                                              starpu_data_handle_t *, int, int sequential_consistency,
                                                              void (*callback_func)(void *), void *callback_arg) {
  struct Later {
    starpu_data_handle_t handle;
    void (*callback)(void *);
    void *arg;
  };
  auto *later = new Later{initial_handle, callback_func, callback_arg};
  acquire_later(
      initial_handle, STARPU_RW,
      [](void *p) {
        const std::unique_ptr<Later> l(static_cast<Later *>(p));
        release(l->handle);
        if (l->callback) l->callback(l->arg);
      },
      later, sequential_consistency != 0);
}
