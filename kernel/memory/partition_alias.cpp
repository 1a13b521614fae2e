#include "memory/partition_alias.hpp"

#include <algorithm>

#include "graph/partition_plan.hpp"
#include "machine/topology.hpp"

namespace consort {
namespace {

// Checks that memory inside the whole has the alignment of memory of the part's own, which codelets may rely on.
bool begins_as_allocated(const Datum &part, const Replica &r, uint64_t align) noexcept {
  consort_extent extents[DataTable::kMostBlocks];
  const uint32_t n = part.layout->ops->extents(part.shape(), r.view, extents, DataTable::kMostBlocks);
  return n <= DataTable::kMostBlocks && (align <= 1 || std::all_of(extents, extents + n, [&](const consort_extent &e) {
           return e.addr.off % align == 0;
         }));
}

}  // namespace

// Returns false if the part has no layout there.
bool PartitionAlias::open_window(const PartitionPlan &plan, uint32_t part, Replica &home, Replica &base) {
  Datum &d = *plan.part[part];
  Replica &r = records_.in(records_.of_part(d, home), d, base.space);
  const bool is_free = !r.pins && !r.coming && !r.stays();
  if (is_free && r.allocated) records_.release(r);
  if (!is_free) return false;
  if (plan.filter->alias(plan.whole->shape(), base.view, plan.params.get(), part, r.view) < 0) return false;
  if (!begins_as_allocated(d, r, topology_.spaces()[base.space].desc.align)) return false;
  r.allocated = true;
  r.unwanted = r.leaves = false;
  r.vain = 0;
  r.base = &base;
  base.windows.push_back(&r);
  return true;
}

bool PartitionAlias::open_windows(const PartitionPlan &plan, Replica &base) {
  Replicas &whole = *plan.whole->extra()->replicas;
  whole.left_over.reserve(whole.left_over.size() + whole.all.size());  // for unshut()
  base.windows.reserve(base.windows.size() + plan.n);
  Replica &home = records_.in(whole, *plan.whole, topology_.home());
  home.windows.reserve(home.windows.size() + plan.n);
  for (uint32_t i = 0; i < plan.n; ++i)
    if (plan.part[i]->pub.bytes && !open_window(plan, i, home, base)) {
      close_windows_of(plan, base);
      return false;
    }
  return true;
}

void PartitionAlias::close_windows_of(const PartitionPlan &plan, Replica &base) noexcept {
  std::erase_if(base.windows, [&](Replica *w) {
    if (discipline_if_any(*w->datum)->part_of != &plan) return false;
    records_.close_window(*w);
    return true;
  });
}

void PartitionAlias::close_windows(const PartitionPlan &plan) noexcept {
  if (Replicas *all = replicas_if_any(*plan.whole)) {
    for (auto *group : {&all->all, &all->left_over})
      for (const auto &r : *group) close_windows_of(plan, *r);
    take_back(*all);
  }
  for (uint32_t i = 0; i < plan.n; ++i)
    if (Replicas *all = replicas_if_any(*plan.part[i])) {
      all->valid = 0;
      all->held = false;
      ++all->version;
    }
}

void PartitionAlias::shut(Datum &d) noexcept {
  Replicas *all = replicas_if_any(d);
  if (!all) return;
  all->shut = true;
  all->held = false;
  all->valid = 0;
  ++all->version;
}

void PartitionAlias::unshut(Datum &d, coherence::Spaces valid) noexcept {
  Replicas *all = replicas_if_any(d);
  if (!all || !all->shut) return;
  all->shut = false;
  all->valid = valid;
  ++all->version;
  std::erase_if(all->all, [&](std::unique_ptr<Replica> &r) {
    if (r->windows.empty() || all->is_valid(*r)) return false;
    if (r->space == topology_.home() || r->lasting) {  // the whole is copied there, and no task reads a part there
      for (Replica *w : r->windows) w->datum->extra()->replicas->valid &= ~coherence::one(r->space);
      return false;
    }
    r->left = true;
    all->left_over.push_back(std::move(r));  // open_windows() reserved the capacity
    return true;
  });
}

// Returns true if the entry of left_over is empty now, or is removed with its replica.
bool PartitionAlias::is_taken_back(Replicas &all, std::unique_ptr<Replica> &r) noexcept {
  if (r->windows.empty()) {
    if (r->allocated) records_.release(*r);
    order_.erase(*r);
    return true;
  }
  if (!all.shut) return false;
  const auto now = std::find_if(all.all.begin(), all.all.end(), [&](const auto &o) { return o->space == r->space; });
  if (now == all.all.end()) {
    if (all.all.size() == all.all.capacity()) return false;  // the capacity must not grow here
    r->left = false;
    all.all.push_back(std::move(r));
    return true;
  }
  if ((*now)->pins || (*now)->coming || (*now)->stays() || !(*now)->windows.empty()) return false;
  if ((*now)->allocated) records_.release(**now);
  order_.erase(**now);
  r->left = false;
  *now = std::move(r);
  return true;
}

void PartitionAlias::take_back(Replicas &all) noexcept {
  std::erase_if(all.left_over, [&](std::unique_ptr<Replica> &r) { return is_taken_back(all, r); });
}

void PartitionAlias::lose_place(const PartitionPlan &plan) noexcept {
  close_windows(plan);
  for (uint32_t i = 0; i < plan.n; ++i)
    if (Replicas *its = replicas_if_any(*plan.part[i]))
      if (Replica *r = its->in(topology_.home())) r->allocated = r->lasting = false;
}

}  // namespace consort
