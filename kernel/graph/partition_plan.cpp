#include "graph/partition_plan.hpp"

#include <cstring>

#include "base/last_error.hpp"
#include "graph/submission_right.hpp"
#include "task/data_keepers.hpp"

namespace consort {
namespace {

constexpr uint32_t kSlots = 1 << 20;

// Returns the interface's own error text, if any.
std::string own_words() {
  const std::string why = error_text();
  return why.empty() ? why : ": " + why;
}

const consort_filter *find_filter(const consort_interface_ops &ops, std::string_view name, std::string *all) {
  for (uint32_t i = 0; i < ops.nfilters; ++i) {
    if (name == ops.filters[i].name) return &ops.filters[i];
    *all += (all->empty() ? "" : ", ") + std::string(ops.filters[i].name);
  }
  return nullptr;
}

// Returns the number of bytes that the params must have, including the list that they announce.
uint64_t params_with_list(const consort_filter &filter, const consort_plan_desc &desc) {
  uint32_t count = 0;
  if (filter.flags & CONSORT_FI_LIST) std::memcpy(&count, desc.params, sizeof count);
  return filter.params_size + count * sizeof(uint64_t);
}

}  // namespace

// A copy of what is needed to divide the whole, since it may be unregistered meanwhile.
struct PartitionPlans::Sketch {
  Layout *layout;
  std::string name;
  Datum *whole;
  uint32_t depth;
  alignas(16) std::byte shape[Layout::kMostBytes];
};

Result<void> PartitionPlans::open() {
  if (!arena_.reserve(kSlots))
    return error(CONSORT_E_NOMEM, "no address space for the table of plans: raise the limit on virtual memory");
  return {};
}

PartitionPlans::Slot *PartitionPlans::find(consort_plan_id id) const noexcept {
  const auto number = static_cast<uint32_t>(id.v);
  if (!arena_.holds(number) || !is(*arena_.at(number), id)) return nullptr;
  return arena_.at(number);
}

consort_status PartitionPlans::look_at(ThreadState &thread, Datum &d, consort_data_id id, Sketch &sketch) {
  Claim claim(&d, CONSORT_M_R);
  const SubmissionRight right(rt_, thread, &claim, 1);
  if (!DataTable::is(d, id)) return refuse_datum(id);
  sketch.layout = d.layout;
  sketch.whole = &d;
  sketch.name = rt_.data.name(d);
  sketch.depth = 0;
  std::memcpy(sketch.shape, d.shape(), d.layout->ops->shape_size);
  const AccessOrder *discipline = discipline_if_any(d);
  if (!discipline) return CONSORT_OK;
  if (!discipline->ordered)
    return set_errorf(CONSORT_E_INVAL,
                      "datum '%s' makes no order among its tasks, so its parts could make none either: "
                      "consort_data_set_ordered(1) first",
                      sketch.name.c_str());
  if (discipline->formats)
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "datum '%s' has several formats: it cannot be divided, but its parts may have formats registered "
                      "as data of their own",
                      sketch.name.c_str());
  sketch.depth = discipline->depth;
  if (discipline->depth >= PartitionPlan::kDeepest)
    return set_errorf(CONSORT_E_INVAL,
                      "datum '%s' is a part %u plans deep, and that is the most: divide it less often, into more parts",
                      sketch.name.c_str(), PartitionPlan::kDeepest);
  return CONSORT_OK;
}

consort_status PartitionPlans::make_parts(PartitionPlan &plan, Layout *layout, const Sketch &whole) {
  plan.part = std::make_unique<Datum *[]>(plan.n);
  plan.discipline = std::make_unique<AccessOrder[]>(plan.n);
  const uint32_t n = plan.n;
  for (plan.n = 0; plan.n < n; ++plan.n) {
    const uint32_t i = plan.n;
    auto slot = rt_.data.take_slot(layout);
    if (!slot) return set_error(slot.error());
    Datum &d = **slot;
    clear_error();
    if (const consort_status s =
            plan.filter->shape(whole.shape, plan.params.get(), i, static_cast<std::byte *>(d.view) - layout->view_at);
        s < 0) {
      rt_.data.put_back(d);
      return set_errorf(s, "filter '%s' of interface '%s' does not divide datum '%s' so: part %u of %u is refused%s",
                        plan.filter->name, whole.layout->name.c_str(), whole.name.c_str(), i, n, own_words().c_str());
    }
    AccessOrder &discipline = plan.discipline[i];
    discipline.part_of = &plan;
    discipline.plan = &plan.name;
    discipline.number = i;
    discipline.depth = whole.depth + 1;
    d.discipline.store(&discipline, std::memory_order_relaxed);  // published with the handle
    d.lock_at.store(static_cast<int32_t>(plan.whole - &d) + plan.whole->lock_at.load(std::memory_order_relaxed),
                    std::memory_order_release);
    rt_.data.show(d, data_state::kHidden | data_state::kNowhere << data_state::kSpaceShift);
    mark_odd(d);
    plan.part[i] = &d;
  }
  return CONSORT_OK;
}

bool PartitionPlans::enroll(PartitionPlan &plan) noexcept {
  {
    std::lock_guard lock(lock_);
    plan.number = free_;
    if (plan.number) free_ = arena_.at(plan.number)->next_free;
  }
  if (!plan.number && !(plan.number = arena_.carve(1))) return false;
  Slot &slot = *arena_.at(plan.number);
  slot.plan = &plan;
  slot.whole.store(plan.whole, std::memory_order_relaxed);
  const uint32_t generation = slot.generation.load(std::memory_order_relaxed);
  slot.generation.store(generation ? generation : 1, std::memory_order_release);
  return true;
}

consort_status PartitionPlans::create(ThreadState &thread, consort_data_id id, const consort_plan_desc &desc,
                                      consort_plan_id *out) {
  Datum *d = rt_.data.find(id);
  if (!d || !DataTable::is(*d, id)) return refuse_datum(id);
  Sketch whole;
  if (const consort_status s = look_at(thread, *d, id, whole); s < 0) return s;
  std::string all;
  const consort_filter *filter = find_filter(*whole.layout->ops, desc.filter, &all);
  if (!filter)
    return set_errorf(CONSORT_E_INVAL, "interface '%s' of datum '%s' has no filter '%s'; it has %s",
                      whole.layout->name.c_str(), whole.name.c_str(), desc.filter, all.empty() ? "none" : all.c_str());
  if (filter->flags & CONSORT_FI_CONTENTS)
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "filter '%s' of interface '%s' divides a datum by its contents, which plans do not do yet: use "
                      "one that goes by sizes",
                      filter->name, whole.layout->name.c_str());
  if (desc.params_bytes < filter->params_size)
    return set_errorf(CONSORT_E_INVAL,
                      "filter '%s' of interface '%s' wants %u bytes of params, these are %llu: see consort/layouts.h",
                      filter->name, whole.layout->name.c_str(), filter->params_size,
                      static_cast<unsigned long long>(desc.params_bytes));
  if (const uint64_t whole_list = params_with_list(*filter, desc); desc.params_bytes < whole_list)
    return set_errorf(
        CONSORT_E_INVAL,
        "filter '%s' of interface '%s' wants %llu bytes of params for the count that they contain, these are %llu",
        filter->name, whole.layout->name.c_str(), static_cast<unsigned long long>(whole_list),
        static_cast<unsigned long long>(desc.params_bytes));
  Layout *layout = whole.layout;
  if (filter->flags & CONSORT_FI_RETYPE) {
    auto child = rt_.data.layout(filter->child);
    if (!child) return set_error(child.error());
    layout = *child;
  }
  auto plan = std::make_unique<PartitionPlan>();
  plan->whole = whole.whole;
  plan->filter = filter;
  if (desc.params_bytes) {
    plan->params.reset(new std::byte[desc.params_bytes]);
    std::memcpy(plan->params.get(), desc.params, desc.params_bytes);
  }
  plan->read_only = (desc.flags & CONSORT_PLAN_READ_ONLY) || (filter->flags & CONSORT_FI_OVERLAP);
  plan->name = desc.name ? std::string(desc.name) : whole.name + "." + filter->name;
  clear_error();
  plan->n = filter->count(whole.shape, plan->params.get());
  if (!plan->n)
    return set_errorf(CONSORT_E_INVAL,
                      "filter '%s' makes no part of datum '%s' with these params%s: see consort/layouts.h",
                      filter->name, whole.name.c_str(), own_words().c_str());
  if (plan->n > PartitionPlan::kMostParts)
    return set_errorf(CONSORT_E_INVAL,
                      "filter '%s' would divide datum '%s' into %u parts, %u are the most: divide the parts in turn",
                      filter->name, whole.name.c_str(), plan->n, PartitionPlan::kMostParts);
  consort_status s = make_parts(*plan, layout, whole);
  if (s >= 0 && !enroll(*plan))
    s = set_errorf(CONSORT_E_NOMEM, "all %u handles of plans are in use: destroy some", arena_.limit());
  if (s < 0) {
    const LastError kept;
    free_parts(*plan);
    return kept.restore(s);
  }
  {
    Claim claim(d, CONSORT_M_R);
    const SubmissionRight right(rt_, thread, &claim, 1);
    AccessOrder *discipline =
        DataTable::is(*d, id) && (!d->keeper || rt_.data_keepers->let_go(*d)) ? discipline_of(*d) : nullptr;
    if (discipline && discipline->ordered && !discipline->formats) {
      plan->next = discipline->plans;
      discipline->plans = plan.get();
      out->v = uint64_t{arena_.at(plan->number)->generation.load(std::memory_order_relaxed)} << 32 | plan->number;
      plan.release();
      return CONSORT_OK;
    }
    s = DataTable::is(*d, id) ? discipline ? CONSORT_E_INVAL : CONSORT_E_NOMEM : CONSORT_E_STALE;
    arena_.at(plan->number)->generation.fetch_add(1, std::memory_order_release);
  }
  remove(plan.release());
  if (s == CONSORT_E_STALE) return refuse_datum(id);
  return set_error(s, s == CONSORT_E_NOMEM ? "no memory for a datum's plans"
                                           : "the datum was set to make no order, or was given a format, meanwhile");
}

void PartitionPlans::kill_names(PartitionPlan &plan) noexcept {
  arena_.at(plan.number)->generation.fetch_add(1, std::memory_order_release);
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    d.generation.store((d.generation.load(std::memory_order_relaxed) + 1) & ~Datum::kOdd, std::memory_order_release);
    for (PartitionPlan *below = plan.discipline[i].plans; below; below = below->next) kill_names(*below);
  }
}

void PartitionPlans::free_parts(PartitionPlan &plan) noexcept {
  for (uint32_t i = 0; i < plan.n; ++i) {
    plan.part[i]->discipline.store(nullptr, std::memory_order_relaxed);  // owned by the plan
    rt_.data.remove(*plan.part[i]);
  }
}

void PartitionPlans::remove(PartitionPlan *plan) noexcept {
  for (uint32_t i = 0; i < plan->n; ++i)
    while (PartitionPlan *below = plan->discipline[i].plans) {
      plan->discipline[i].plans = below->next;
      remove(below);
    }
  free_parts(*plan);
  arena_.at(plan->number)->plan = nullptr;
  {
    std::lock_guard lock(lock_);
    arena_.at(plan->number)->next_free = free_;
    free_ = plan->number;
  }
  delete plan;
}

void PartitionPlans::close() noexcept {
  for (uint32_t i = 1; i < arena_.carved(); ++i)
    if (PartitionPlan *plan = arena_.at(i)->plan; plan && !is_part(*plan->whole)) remove(plan);
}

}  // namespace consort
