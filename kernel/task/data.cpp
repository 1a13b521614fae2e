#include "task/data.hpp"

#include <cstdlib>
#include <cstring>

#include "base/last_error.hpp"
#include "machine/platform.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"
#include "task/data_placement.hpp"
#include "task/replica.hpp"
#include "task/task_arena.hpp"

namespace consort {
namespace {

constexpr uint32_t kSlots = 1 << 24;

uint32_t round_up(uint32_t n) { return (n + 15u) & ~15u; }

}  // namespace

DatumExtra::DatumExtra() = default;
DatumExtra::~DatumExtra() = default;
DatumOrder::~DatumOrder() = default;

Result<void> DataTable::open() {
  if (!arena_.reserve(kSlots))
    return error(CONSORT_E_NOMEM, "no address space for the table of data: raise the limit on virtual memory");
  return {};
}

Result<Layout *> DataTable::layout(std::string_view name) {
  // The last layout found is tried first, since most data share one. The release below pairs with this acquire.
  if (Layout *l = recent_.load(std::memory_order_acquire); l && l->name == name) return l;
  std::lock_guard lock(layouts_mutex_);
  for (auto &l : layouts_)
    if (l->name == name) {
      recent_.store(l.get(), std::memory_order_release);
      return l.get();
    }
  auto plugin = platform_.registry->load(CONSORT_KIND_INTERFACE, name);
  if (!plugin) return plugin.error();
  const consort_interface_ops *ops = (*plugin)->interface();
  if (ops->shape_size > Layout::kMostBytes || ops->view_size > Layout::kMostBytes)
    return error(CONSORT_E_INVAL,
                 "interface '" + std::string(name) + "' says that its shape or view is larger than 256 bytes");
  const uint32_t view_at = round_up(ops->shape_size);
  layouts_.push_back(std::make_unique<Layout>(
      Layout{ops, std::string(name), view_at, view_at + ops->view_size <= Datum::kStore}));
  recent_.store(layouts_.back().get(), std::memory_order_release);
  return layouts_.back().get();
}

Result<Datum *> DataTable::take_slot(Layout *l) {
  uint32_t number;
  {
    std::lock_guard lock(lock_);
    number = free_;
    if (number) free_ = static_cast<uint32_t>(arena_.at(number)->home.load(std::memory_order_relaxed));
  }
  if (!number && !(number = arena_.carve(1)))
    return error(CONSORT_E_NOMEM,
                 "all " + std::to_string(arena_.limit()) + " handles are in use: unregister some data");
  Datum &d = *arena_.at(number);
  std::byte *store = l->in_slot ? d.store : static_cast<std::byte *>(std::malloc(l->view_at + l->ops->view_size));
  if (!store) {
    give_slot(d);
    return error(CONSORT_E_NOMEM, "no memory for a datum");
  }
  std::memset(store, 0, l->view_at + l->ops->view_size);
  d.view = store + l->view_at;
  d.layout = l;
  d.writer = 0;
  d.nreaders = 0;
  d.rare.store(nullptr, std::memory_order_relaxed);
  d.home.store(0, std::memory_order_relaxed);
  d.keeper = 0;
  d.discipline.store(nullptr, std::memory_order_relaxed);
  d.lock_at.store(0, std::memory_order_release);
  return &d;
}

void DataTable::give_slot(Datum &d) noexcept {
  d.layout = nullptr;
  std::lock_guard lock(lock_);
  d.home.store(free_, std::memory_order_relaxed);
  free_ = arena_.index(&d);
}

void DataTable::put_back(Datum &d) noexcept {
  if (!d.layout->in_slot) std::free(static_cast<std::byte *>(d.view) - d.layout->view_at);
  give_slot(d);
}

// Makes the datum visible. Precondition: its sizes and state are known.
void DataTable::show(Datum &d, uint32_t state) noexcept {
  const uint32_t last = d.generation.load(std::memory_order_relaxed) & ~Datum::kOdd;
  const uint32_t generation = last ? last : 1;
  d.pub = {uint64_t{generation} << 32 | arena_.index(&d), d.layout->ops->bytes(d.shape())};
  d.state.store(state, std::memory_order_relaxed);
  d.generation.store(generation, std::memory_order_release);
  if (!(state & data_state::kHidden)) live_.fetch_add(1, std::memory_order_relaxed);
}

// Removes the datum if out of memory.
consort_status DataTable::give_name(Datum &d, const char *name) {
  if (!name) return CONSORT_OK;
  try {
    if (!extra(d)) throw std::bad_alloc();
    d.extra()->name = name;
    return CONSORT_OK;
  } catch (const std::bad_alloc &) {
    remove(d);
    return CONSORT_E_NOMEM;
  }
}

Result<Datum *> DataTable::add(const consort_data_desc &desc) { return add(desc, platform_.topology->home()); }

Result<Datum *> DataTable::add(const consort_data_desc &desc, uint32_t home) {
  auto found = layout(desc.interface);
  if (!found) return found.error();
  Layout *l = *found;
  auto slot = take_slot(l);
  if (!slot) return slot.error();
  Datum &d = **slot;
  std::byte *store = static_cast<std::byte *>(d.view) - l->view_at;
  clear_error();
  const consort_status answer = l->ops->shape(desc.args, desc.args_bytes, store, d.view);
  const consort_status s = plugin_status(answer, l->name.c_str(), "shape()");
  if (s < 0) {
    put_back(d);
    if (s != answer) return error(s, error_text());
    return error(s, "interface '" + l->name + "' does not accept these registration arguments (" +
                        std::to_string(desc.args_bytes) +
                        " bytes): check sizes, element size and leading dimension in consort/layouts.h");
  }
  bool homeless = false;
  consort_extent extent{};
  if (l->ops->bytes(store))
    homeless = l->ops->extents(store, d.view, &extent, 1) > 0 && extent.addr.base + extent.addr.off == 0;
  const bool elsewhere = home != platform_.topology->home() && l->ops->bytes(store);
  if (elsewhere && homeless) {
    put_back(d);
    return error(CONSORT_E_INVAL,
                 "the arguments have no address, so there is no home in a space: give the address that its driver knows, "
                 "or register it without a home (consort_register)");
  }
  show(d, homeless ? data_state::kNowhere << data_state::kSpaceShift
                   : (elsewhere ? home : platform_.topology->home()) << data_state::kSpaceShift | data_state::kValid);
  if (const consort_status s = give_name(d, desc.name); s < 0) return error(s, "no memory for the name of a datum");
  if (elsewhere)
    if (const consort_status s = placement->settle(d, home); s < 0) {
      remove(d);
      return error(s, error_text());
    }
  // pairs with find_home(): the name is valid
  d.home.store(extent.addr.base + extent.addr.off, std::memory_order_release);
  return &d;
}

// A datum's home is cleared before its name becomes invalid: if it is seen before and after the generation, it belongs
// to that name. Numbers in free slots are smaller than any address.
Datum *DataTable::find_home(const void *ptr, consort_data_id *id) const noexcept {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  if (address < kSlots) return nullptr;
  for (uint32_t i = 1; i < arena_.carved(); ++i) {
    Datum &d = *arena_.at(i);
    if (d.home.load(std::memory_order_acquire) != address) continue;
    const uint32_t generation = d.generation.load(std::memory_order_acquire) & ~Datum::kOdd;
    if (d.home.load(std::memory_order_acquire) != address) continue;
    id->v = uint64_t{generation} << 32 | i;
    return &d;
  }
  return nullptr;
}

Result<Datum *> DataTable::add_like(const Datum &like, Show how, const char *name) {
  auto slot = take_slot(like.layout);
  if (!slot) return slot.error();
  std::memcpy(static_cast<std::byte *>((*slot)->view) - like.layout->view_at, like.shape(),
              like.layout->ops->shape_size);
  // There are no contents that would have to be written first.
  // Sizes without an address: the home view of a datum without memory. So a datum of 0 bytes has a view, too.
  const Layout &l = *like.layout;
  const consort_addr nowhere[kMostBlocks] = {};
  consort_block wanted[kMostBlocks];
  const consort_space_desc &home = platform_.topology->spaces()[platform_.topology->home()].desc;
  if (const uint32_t n = l.ops->blocks(like.shape(), &home, wanted, kMostBlocks); n <= kMostBlocks)
    (void)l.ops->view(like.shape(), &home, nowhere, n, (*slot)->view);
  show(**slot, (like.pub.bytes ? data_state::kNowhere << data_state::kSpaceShift
                               : platform_.topology->home() << data_state::kSpaceShift | data_state::kValid) |
                   how);
  if (const consort_status s = give_name(**slot, name); s < 0) return error(s, "no memory for the name of a datum");
  return *slot;
}

void DataTable::remove(Datum &d) noexcept {
  delete d.discipline.exchange(nullptr, std::memory_order_relaxed);
  // Only its owner is left, and hints about it.
  DatumExtra *const e =
      placement ? placement->forget(d) : d.rare.exchange(nullptr, std::memory_order_relaxed);
  if (e) {
    free_blocks(e->blocks);
    for (auto &s : e->scratch) free_blocks(s->blocks);
    delete e;
  }
  if (!(d.state.load(std::memory_order_relaxed) & data_state::kHidden)) live_.fetch_sub(1, std::memory_order_relaxed);
  put_back(d);
}

void DataTable::close() noexcept {
  for (uint32_t i = 1; i < arena_.carved(); ++i) {
    Datum &d = *arena_.at(i);
    // hidden data are freed with their owner
    if (d.layout && !(d.state.load(std::memory_order_relaxed) & data_state::kHidden)) remove(d);
    std::free(d.more);
  }
}

std::string DataTable::name(const Datum &d) const noexcept try {
  if (const DatumExtra *e = d.extra(); e && !e->name.empty()) return e->name;
  if (const DatumOrder *order = d.discipline.load(std::memory_order_acquire); order && order->plan)
    return *order->plan + "[" + std::to_string(order->number) + "]";
  return (d.layout ? d.layout->name : std::string("datum")) + "#" + std::to_string(static_cast<uint32_t>(d.pub.id));
} catch (const std::bad_alloc &) {
  return "some datum";  // short enough to need no allocation
}

DatumExtra *DataTable::extra(Datum &d) noexcept {
  if (DatumExtra *e = d.extra()) return e;
  auto *mine = new (std::nothrow) DatumExtra;
  DatumExtra *theirs = nullptr;
  // Concurrent users of the datum may make it at the same time. release: another thread finds it complete; acquire: so
  // does this one.
  if (!mine || d.rare.compare_exchange_strong(theirs, mine, std::memory_order_acq_rel)) return mine;
  delete mine;
  return theirs;
}

std::shared_ptr<const Failure> DataTable::blame(const Datum &d) const noexcept {
  const DatumExtra *e = d.extra();
  if (!e) return nullptr;
  std::lock_guard lock(blame_mutex);
  return e->blame;
}

void DataTable::blame(Datum &d, std::shared_ptr<const Failure> failure) noexcept {
  DatumExtra *e = failure ? extra(d) : d.extra();
  if (!e) return;
  std::lock_guard lock(blame_mutex);
  e->blame.swap(failure);  // the old value is destroyed after the unlock
}

bool DataTable::make_room(const TaskArena &tasks, Datum &d) noexcept {
  if (d.nreaders < Datum::kInlineReaders + d.capacity) return true;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < d.nreaders; ++i) {
    const TaskName r = d.reader_at(i);
    // acquire: an ended reader has read before the datum is overwritten
    if (word::generation(tasks.at(static_cast<uint32_t>(r))->word.load(std::memory_order_acquire)) == r >> 32)
      d.reader_at(kept++) = r;
  }
  d.nreaders = kept;
  if (kept < (Datum::kInlineReaders + d.capacity) / 2 + 1) return true;  // else each call would have to search again
  const uint32_t capacity = d.capacity ? d.capacity * 2 : 12;
  void *more = std::realloc(d.more, capacity * sizeof(TaskName));
  if (!more) return kept < Datum::kInlineReaders + d.capacity;
  d.more = static_cast<TaskName *>(more);
  d.capacity = capacity;
  return true;
}

consort_status DataTable::allocate(const Datum &d, uint32_t space, std::vector<DatumExtra::Block> &blocks,
                                   std::byte *view) {
  const Layout &l = *d.layout;
  const Space &s = platform_.topology->spaces()[space];
  consort_block wanted[kMostBlocks];
  const uint32_t n = l.ops->blocks(d.shape(), &s.desc, wanted, kMostBlocks);
  if (n > kMostBlocks)
    return set_errorf(CONSORT_E_UNSUPPORTED, "datum '%s' wants %u blocks of memory, %u are the most", name(d).c_str(),
                      n, kMostBlocks);
  consort_addr addr[kMostBlocks];
  blocks.reserve(n);  // may throw, before anything is allocated
  for (uint32_t i = 0; i < n; ++i) {
    clear_error();
    const consort_status st = [&] {
      std::lock_guard lock(platform_.topology->control());
      return plugin_status(
          s.device->ops->alloc(s.device->dev, s.desc.id, wanted[i].bytes, wanted[i].align, 0, &addr[i]),
          s.device->plugin->manifest->name, "alloc()");
    }();
    if (st < 0) {
      const LastError why;
      free_blocks(blocks);
      return set_errorf(st, "no memory for datum '%s' in space '%s': %llu bytes%s%s", name(d).c_str(), s.desc.name,
                        static_cast<unsigned long long>(wanted[i].bytes), *why.text() ? ": " : "", why.text());
    }
    blocks.push_back({space, addr[i], wanted[i].bytes});
  }
  const consort_status answer = l.ops->view(d.shape(), &s.desc, addr, n, view);
  const consort_status st = plugin_status(answer, l.name.c_str(), "view()");
  if (st < 0) {
    free_blocks(blocks);
    if (st != answer) return st;
    return set_errorf(st, "interface '%s' makes no view of datum '%s' in space '%s'", l.name.c_str(), name(d).c_str(),
                      s.desc.name);
  }
  return CONSORT_OK;
}

void DataTable::free_blocks(std::vector<DatumExtra::Block> &blocks) noexcept {
  std::lock_guard lock(platform_.topology->control());
  for (const auto &b : blocks) {
    const Space &s = platform_.topology->spaces()[b.space];
    s.device->ops->free(s.device->dev, b.space, b.addr, b.bytes);
  }
  blocks.clear();
}

consort_status DataTable::give_memory(Datum &d, uint32_t space) noexcept try {
  if (const DatumOrder *order = d.discipline.load(std::memory_order_acquire); order && order->plan)
    return set_errorf(CONSORT_E_NOMEM, "'%s' is a part of a datum for which there was no memory", name(d).c_str());
  if (!extra(d)) throw std::bad_alloc();
  const consort_status st = allocate(d, space, d.extra()->blocks, static_cast<std::byte *>(d.view));
  if (st < 0) return st;
  d.state.store((d.state.load(std::memory_order_relaxed) & ((1u << data_state::kSpaceShift) - 1)) |
                    space << data_state::kSpaceShift,
                std::memory_order_relaxed);
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the record of a datum");
}

consort_status DataTable::take_scratch(Datum &d, TaskName user, uint32_t space, const void **view) noexcept try {
  DatumExtra *e = extra(d);
  if (!e) throw std::bad_alloc();
  std::lock_guard lock(e->mutex);
  for (auto &s : e->scratch)
    if (!s->user && s->space == space) {
      s->user = user;
      *view = s->view.get();
      return CONSORT_OK;
    }
  auto s = std::make_unique<DatumExtra::Scratch>(DatumExtra::Scratch{user, space, {}, nullptr});
  s->view.reset(new std::byte[d.layout->ops->view_size]());
  e->scratch.reserve(e->scratch.size() + 1);
  const consort_status st = allocate(d, space, s->blocks, s->view.get());
  if (st < 0) return st;
  *view = s->view.get();
  e->scratch.push_back(std::move(s));
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for a task's scratch copy");
}

void DataTable::give_scratch(Datum &d, TaskName user) noexcept {
  DatumExtra *e = d.extra();
  if (!e) return;
  std::lock_guard lock(e->mutex);
  for (auto &s : e->scratch)
    if (s->user == user) s->user = 0;
}

consort_status refuse_datum(consort_data_id id) noexcept {
  return set_error(
      id.v ? CONSORT_E_STALE : CONSORT_E_INVAL,
      id.v ? "the datum is not registered (any more): its handle is stale" : "the null handle names no datum");
}

}  // namespace consort
