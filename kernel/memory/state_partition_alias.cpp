// partition_alias.cpp — Memory, the part that knows windows: parts in the memory that their whole has in a space.
//
// A window has no memory of its own. While it is pinned so is its base; when the base loses its memory its windows go,
// and a part that is wanted there again gets memory like any datum. While the whole may be used (Replicas::shut is not
// set) whoever shares its memory has the same contents, so windows are valid where their base is and what is fetched is
// the whole; else each part has contents of its own, and is fetched and saved by itself.
#include <algorithm>

#include "graph/partition_plan.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {
namespace {

// Codelets may count on what memory of the part's own would give them.
bool begins_as_allocated(const Datum &part, const Replica &r, uint64_t align) noexcept {
  consort_extent extents[DataTable::kMostBlocks];
  const uint32_t n = part.layout->ops->extents(part.shape(), r.view, extents, DataTable::kMostBlocks);
  return n <= DataTable::kMostBlocks && (align <= 1 || std::all_of(extents, extents + n, [&](const consort_extent &e) {
           return e.addr.off % align == 0;
         }));
}

}  // namespace

using coherence::one;

Replica &MemoryState::holder(Replica &r) noexcept {
  Replica *at = &r;
  while (at->base) at = at->base;
  return *at;
}

bool MemoryState::is_apart(const Replica &base) noexcept { return base.left || base.datum->extra()->replicas->shut; }

bool MemoryState::follows(const Replica &r) noexcept { return r.base && !is_apart(*r.base); }

bool MemoryState::is_only(const Replica &r) const noexcept {
  const Replicas &all = *r.datum->extra()->replicas;
  if (r.windows.empty()) return !r.left && coherence::rule(all.valid, r.space, coherence::Event::kDrop).save;
  const auto is = [&](const Replica *w) { return is_only(*w); };
  if (is_apart(r)) return std::any_of(r.windows.begin(), r.windows.end(), is);
  // Its windows follow it: they are everywhere else only if it is at home, where all have a window.
  return all.is_valid(r) && !(all.valid & one(rt_.topology->home()));
}

bool MemoryState::is_worthless(const Replica &r) noexcept {
  if (r.windows.empty() || !is_apart(r)) return r.left || !r.datum->extra()->replicas->is_valid(r);
  return std::all_of(r.windows.begin(), r.windows.end(), [](const Replica *w) { return is_worthless(*w); });
}

uint64_t MemoryState::next_use(const Replica &r) noexcept {
  uint64_t place = outlook_.next(*r.datum).place;
  for (const Replica *w : r.windows) place = std::min(place, next_use(*w));
  return place;
}

// A part that is in several places from now on: its memory at home is its whole's.
Replicas &MemoryState::record_of_part(Datum &d, Replica &home) {
  DatumExtra *e = rt_.data.extra(d);
  if (!e) throw std::bad_alloc();
  if (!e->replicas) e->replicas = std::make_unique<Replicas>(d);
  Replicas &all = *e->replicas;
  Replica &r = *replica_in(all, d, home.space);
  if (r.base) return all;
  home.windows.push_back(&r);
  if (!r.blocks.empty()) release(r);
  unlist(r);
  r.view = d.view;
  r.allocated = r.lasting = true;
  r.base = &home;
  d.places.known.store(true, std::memory_order_release);  // pairs with MemoryState::places_shown()
  return all;
}

bool MemoryState::open_windows(const PartitionPlan &plan, Replica &base) {
  const uint64_t align = rt_.topology->spaces()[base.space].desc.align;
  Replicas &whole = *plan.whole->extra()->replicas;
  whole.left_over.reserve(whole.left_over.size() + whole.all.size());  // for unshut()
  base.windows.reserve(base.windows.size() + plan.n);
  Replica &home = *replica_in(whole, *plan.whole, rt_.topology->home());
  home.windows.reserve(home.windows.size() + plan.n);
  for (uint32_t i = 0; i < plan.n; ++i) {
    Datum &d = *plan.part[i];
    if (!d.pub.bytes) continue;
    Replica &r = *replica_in(record_of_part(d, home), d, base.space);
    const bool is_free = !r.pins && !r.coming && !r.stays();
    if (is_free && r.allocated) release(r);
    if (!is_free || plan.filter->alias(plan.whole->shape(), base.view, plan.params.get(), i, r.view) < 0 ||
        !begins_as_allocated(d, r, align)) {
      std::erase_if(base.windows, [&](Replica *w) {
        if (discipline_if_any(*w->datum)->part_of != &plan) return false;
        close_window(*w);
        return true;
      });
      return false;
    }
    r.allocated = true;
    r.unwanted = r.leaves = false;
    r.vain = 0;
    r.base = &base;
    base.windows.push_back(&r);
  }
  return true;
}

bool MemoryState::has_no_place(const Replica &r) const noexcept {
  return !r.allocated && r.space == rt_.topology->home() && is_part(*r.datum);
}

void MemoryState::spread(const Replica &base) noexcept {
  if (base.windows.empty() || is_apart(base)) return;
  for (const Replica *w : base.windows) {
    if (w->left) continue;
    w->datum->extra()->replicas->valid |= one(base.space);
    spread(*w);
  }
}

void MemoryState::close_window(Replica &w) noexcept {
  close_windows(w);
  if (w.pins) unpin(*w.base);
  w.base = nullptr;
  if (w.lasting) return;
  w.allocated = false;
  if (!w.left) w.datum->extra()->replicas->valid &= ~one(w.space);
}

void MemoryState::close_windows(Replica &base) noexcept {
  for (Replica *w : base.windows) close_window(*w);
  base.windows.clear();
}

// Nobody uses its parts any more: what they have elsewhere is worth nothing.
void MemoryState::close_windows(const PartitionPlan &plan) noexcept {
  if (Replicas *all = replicas_if_any(*plan.whole)) {
    for (auto *group : {&all->all, &all->left_over})
      for (const auto &r : *group)
        std::erase_if(r->windows, [&](Replica *w) {
          if (discipline_if_any(*w->datum)->part_of != &plan) return false;
          close_window(*w);
          return true;
        });
    take_back(*all);
  }
  for (uint32_t i = 0; i < plan.n; ++i)
    if (Replicas *all = replicas_if_any(*plan.part[i])) {
      all->valid = 0;
      all->held = false;
      ++all->version;
    }
}

// What was left to windows alone: gone with the last, or the whole's again where it has no other memory that anybody
// uses.
void MemoryState::take_back(Replicas &all) noexcept {
  std::erase_if(all.left_over, [&](std::unique_ptr<Replica> &r) {
    if (r->windows.empty()) {
      if (r->allocated) release(*r);
      unlist(*r);
      --stores_[r->space].replicas;
      return true;
    }
    if (!all.shut) return false;
    const auto now = std::find_if(all.all.begin(), all.all.end(), [&](const auto &o) { return o->space == r->space; });
    if (now == all.all.end()) {
      if (all.all.size() == all.all.capacity()) return false;  // it may not be enlarged here
      r->left = false;
      all.all.push_back(std::move(r));
      return true;
    }
    if ((*now)->pins || (*now)->coming || (*now)->stays() || !(*now)->windows.empty()) return false;
    if ((*now)->allocated) release(**now);
    unlist(**now);
    --stores_[r->space].replicas;
    r->left = false;
    *now = std::move(r);
    return true;
  });
}

}  // namespace consort
