#include "memory/memory_state.hpp"

#include <algorithm>

#include "base/last_error.hpp"
#include "memory/data_management.hpp"
#include "plugin/config.hpp"

namespace consort {

MemoryState::MemoryState(DataManagement &rt) : rt_(rt), outlook_(rt.tasks) {}
MemoryState::~MemoryState() { close(); }

void MemoryState::stop_threads() noexcept {
  for (auto &m : movers_) m->stop();
}

void MemoryState::close() noexcept {
  stop_threads();
  for (uint32_t s = 0; s < stores_.size(); ++s) drop_spares(stores_[s]);
  movers_.clear();
}

// -- the start ------------------------------------------------------------------------------------------------

Result<void> MemoryState::open() {
  const auto &spaces = rt_.topology->spaces();
  const size_t n = spaces.size();
  stores_.resize(n);
  for (uint32_t s = 0; s < n; ++s)
    if (s != rt_.topology->home() && !(spaces[s].desc.flags & CONSORT_SP_CPU)) {
      stores_[s].counted = true;
      if (spaces[s].desc.capacity) stores_[s].limit = spaces[s].desc.capacity;
    }
  for (uint32_t s = 0; s < n; ++s)
    stores_[s].refuge = s == rt_.topology->home() ||
                        std::none_of(rt_.topology->units().begin(), rt_.topology->units().end(),
                                     [s](const Unit &u) { return u.desc.space == s; });
  if (auto r = read_limits(); !r) return r;
  save_ahead_ = static_cast<uint32_t>(rt_.config->number("save_ahead"));
  for (Store &s : stores_) s.grants_scratch = s.counted;
  uint64_t foreseen = 0;
  for (const Unit &u : rt_.topology->units())
    if (stores_[u.desc.space].counted) foreseen |= uint64_t{1} << u.klass;
  rt_.codelets.foresee(foreseen);
  // A mover for each device whose links move bytes.
  mover_of_.assign(n * n, nullptr);
  traffic_.resize(n * n);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b) {
      const Link &link = rt_.topology->link(a, b);
      if (a == b || !link.device || (link.desc.flags & CONSORT_LK_LOADSTORE)) continue;
      Mover *mover = nullptr;
      for (auto &m : movers_)
        if (&m->device() == link.device) mover = m.get();
      if (!mover) {
        auto made = Mover::open({*rt_.topology, rt_.clock, rt_.virtual_time, rt_.spin_rounds}, *this, *link.device,
                                 Mover::kFirstToken + movers_.size());
        if (!made) return made.error();
        mover = made->get();
        movers_.push_back(std::move(*made));
      }
      mover_of_[a * n + b] = mover;
      if (!link.desc.bus) continue;
      auto &bus = buses_[{link.device->plugin, link.desc.bus}];
      if (!bus) bus = std::make_unique<SharedLink>(link.desc.bus_bytes_per_s, rt_.virtual_time);
      mover->share(a, b, *bus);
    }
  routes_.open(*rt_.topology);
  open_estimates();
  return {};
}

// limits = "NAME=64M, NAME=50%": of a space by its name.
Result<void> MemoryState::read_limits() {
  const auto &spaces = rt_.topology->spaces();
  for (const std::string &entry : rt_.config->list("limits")) {
    const size_t eq = entry.find('=');
    const auto bad = [&](const char *why) {
      std::string have;
      for (const Space &s : spaces) have += (have.empty() ? "" : ", ") + std::string(s.desc.name);
      return error(CONSORT_E_INVAL,
                   "setting limits: '" + entry + "' " + why + "; write NAME=64M or NAME=50%, the spaces are " + have);
    };
    if (eq == std::string::npos) return bad("has no =");
    const std::string name = entry.substr(0, eq);
    const auto space = std::find_if(spaces.begin(), spaces.end(), [&](const Space &s) { return name == s.desc.name; });
    if (space == spaces.end()) return bad("names no space");
    char *end = nullptr;
    const double value = std::strtod(entry.c_str() + eq + 1, &end);
    static constexpr std::string_view kUnits = "BKMGT";
    double factor = 1;
    if (*end == '%')
      factor = static_cast<double>(space->desc.capacity) / 100, ++end;
    else if (const size_t u = kUnits.find(*end); *end && u != kUnits.npos)
      factor = static_cast<double>(uint64_t{1} << 10 * u), ++end;
    if (*end || end == entry.c_str() + eq + 1 || !(value >= 0)) return bad("is no size");
    if (factor == 0) return bad("is a share of a size that the driver does not tell");
    Store &store = stores_[space->desc.id];
    store.counted = true;
    store.limit = std::min<uint64_t>(store.limit, static_cast<uint64_t>(value * factor));
  }
  return {};
}

Result<void> MemoryState::start_threads() {
  for (auto &m : movers_)
    if (auto r = m->start_thread(); !r) return r;
  return {};
}

Mover *MemoryState::mover(uint64_t token) const noexcept {
  return token >= Mover::kFirstToken && token - Mover::kFirstToken < movers_.size() ? movers_[token - Mover::kFirstToken].get() : nullptr;
}

void MemoryState::lost(const Device &d) noexcept { rt_.lost.add(d); }
ThreadState *MemoryState::this_thread() noexcept { return rt_.this_thread(); }

bool MemoryState::step(ThreadState &thread) noexcept {
  // Before it looks: what comes meanwhile is looked at again. acquire: pairs with stir()
  looked_at_ = rt_.clock.now();
  stirred_.exchange(false, std::memory_order_acquire);
  bool did = false, settled = true;
  for (auto &m : movers_) {
    did |= m->step(thread);
    settled &= m->settled();
  }
  if (did || !settled) stir();
  return did;
}

bool MemoryState::stirred() const noexcept {
  return stirred_.load(std::memory_order_relaxed) || looked_at_ != rt_.clock.now() || has_hints();
}

uint64_t MemoryState::next_event() const noexcept {
  uint64_t next = CONSORT_NEVER;
  for (const auto &m : movers_) next = std::min(next, m->next_event());
  return next;
}

// -- replicas -------------------------------------------------------------------------------------------------

Replicas *MemoryState::replicas_if_any(const Datum &d) noexcept {
  const DatumExtra *e = d.extra();
  return e ? e->replicas.get() : nullptr;
}

bool MemoryState::has_contents(const Datum &d) noexcept {
  return (d.state.load(std::memory_order_relaxed) & data_state::kPlain) == data_state::kValid;
}

Replicas *MemoryState::replicas_of(Datum &d) {
  DatumExtra *e = rt_.data.extra(d);
  if (!e) throw std::bad_alloc();
  if (e->replicas) return e->replicas.get();
  auto all = std::make_unique<Replicas>(d);
  const uint32_t state = d.state.load(std::memory_order_relaxed), space = data_state::space(state);
  if (space != data_state::kNowhere) {
    auto r = std::make_unique<Replica>();
    all->all.reserve(1);
    stores_[space].victims.expect(stores_[space].replicas + 1);  // from here on nothing fails
    r->datum = &d;
    r->space = space;
    r->allocated = true;
    r->lasting = e->blocks.empty();
    r->unsure = true;
    r->view = d.view;
    r->blocks = std::move(e->blocks);
    e->blocks.clear();
    for (const auto &b : r->blocks) r->bytes += b.bytes;
    stores_[space].used += r->bytes;
    ++stores_[space].replicas;
    if (state & data_state::kValid) all->valid = coherence::one(space);
    all->all.push_back(std::move(r));
    list(*all->all.back());
  }
  e->replicas = std::move(all);
  d.places.known.store(true, std::memory_order_release);  // pairs with MemoryState::places_shown()
  uint32_t now = d.state.load(std::memory_order_relaxed);
  while (!d.state.compare_exchange_weak(
      now, (now & ((1u << data_state::kSpaceShift) - 1)) | data_state::kMany << data_state::kSpaceShift,
      std::memory_order_relaxed)) {
  }
  return e->replicas.get();
}

Replica *MemoryState::replica_in(Replicas &all, Datum &d, uint32_t space) {
  if (Replica *r = all.in(space)) return r;
  auto r = std::make_unique<Replica>();
  r->datum = &d;
  r->space = space;
  const bool as_datum = space == rt_.topology->home() &&
                        std::none_of(all.all.begin(), all.all.end(), [&](const auto &o) { return o->view == d.view; });
  if (!as_datum) r->own_view.reset(new std::byte[std::max(1u, d.layout->ops->view_size)]());
  r->view = as_datum ? d.view : r->own_view.get();  // at home its view is the datum's own, which parts go by
  stores_[space].victims.expect(stores_[space].replicas + 1);
  all.all.push_back(std::move(r));
  ++stores_[space].replicas;
  return all.all.back().get();
}

uint64_t MemoryState::bytes_in(const Datum &d, uint32_t space) const noexcept {
  consort_block blocks[DataTable::kMostBlocks];
  const auto &desc = rt_.topology->spaces()[space].desc;
  const uint32_t n = d.layout->ops->blocks(d.shape(), &desc, blocks, DataTable::kMostBlocks);
  uint64_t sum = 0;
  const uint64_t granule = std::max<uint64_t>(desc.granule, 1);
  for (uint32_t i = 0; i < n && i < DataTable::kMostBlocks; ++i)
    sum += (blocks[i].bytes + granule - 1) / granule * granule;
  return sum;
}

void MemoryState::list(Replica &r) noexcept {  // as the newest, or, if nobody wants it, as the oldest
  if (r.listed || r.stays() || r.pins || !r.allocated) return;
  Store &store = stores_[r.space];
  r.listed = true;
  store.evictable += r.bytes;
  r.newer = r.unwanted ? store.oldest : nullptr;
  r.older = r.unwanted ? nullptr : store.newest;
  (r.older ? r.older->newer : store.oldest) = &r;
  (r.newer ? r.newer->older : store.newest) = &r;
  r.age = ++store.uses;
  if (!store.tight || r.looked_at) return;
  rank(r);
  store.victims.add(r);
}

void MemoryState::unlist(Replica &r) noexcept {
  if (!r.listed) return;
  Store &store = stores_[r.space];
  (r.older ? r.older->newer : store.oldest) = r.newer;
  (r.newer ? r.newer->older : store.newest) = r.older;
  r.listed = false;
  store.evictable -= r.bytes;
  store.victims.remove(r);
}

void MemoryState::pin(Replica &r) noexcept {
  if (r.pins++) return;
  unlist(r);
  stores_[r.space].pinned += r.bytes;
  if (r.base) pin(*r.base);
}
void MemoryState::unpin(Replica &r) noexcept {
  if (--r.pins) return;
  stores_[r.space].pinned -= r.bytes;
  r.last_use_ns = rt_.policy.chooses_victims() ? rt_.clock.now() : 0;
  list(r);
  if (r.base) unpin(*r.base);
}

// -- room -----------------------------------------------------------------------------------------------------

// Which of two goes first: contents that nobody needs; what is read last, or never; of those what need not be saved;
// the longest unused. What is to be kept there goes last.
void MemoryState::rank(Replica &r) noexcept {
  enum : uint64_t { kWorthless, kOrdinary, kKept };
  const Replicas &all = *r.datum->extra()->replicas;
  const bool kept = all.through & coherence::one(r.space);
  const uint64_t level = r.unwanted || is_worthless(r) ? kWorthless : kept ? kKept : kOrdinary;
  static_assert(NextUse::kNever < uint64_t{1} << 62);
  if (level == kOrdinary && r.chosen && r.chosen >> Replica::kPlaceBits == stores_[r.space].asks) {
    r.rank = 1 + (r.chosen & ((1u << Replica::kPlaceBits) - 1));  // behind all that is worth nothing, before the rest
    return;
  }
  const uint64_t nearness = level == kWorthless ? 0 : NextUse::kNever - next_use(r);
  r.rank = level << 62 | (nearness << 1 & NextUse::kNever) | is_only(r);
}

void MemoryState::look_ahead(Store &store) noexcept {
  outlook_.refresh();
  if (!store.tight) {
    store.tight = true;
    for (Replica *r = store.oldest; r; r = r->newer) rank(*r), store.victims.add(*r);
  } else if (!store.evictions_until_ranked) {  // tasks may have used them elsewhere, or been cancelled
    store.victims.rank_all([&](Replica &r) noexcept { rank(r); });
  } else {
    return;
  }
  store.evictions_until_ranked = store.victims.size();
}

Replica *MemoryState::next_victim(Store &store) noexcept {
  for (;;) {
    Replica *const r = store.victims.first();
    if (!r) return nullptr;
    const uint64_t before = r->rank;
    rank(*r);
    if (r->rank == before) return r;
    store.victims.moved(*r);  // each at most once: meanwhile nothing happens
  }
}

// False: there is no room yet; what could be begun was begun, and serve() comes when it has ended. What is not needed
// longest is waited for, where it has to be saved first: what could be dropped at once may be needed soon.
bool MemoryState::make_room(uint32_t space, uint64_t bytes, const Staging *for_whom) noexcept {
  Store &store = stores_[space];
  if (!store.counted) return true;
  const auto lacks = [&](uint64_t soon) { return store.used - store.spare_bytes + bytes > store.limit + soon; };
  const bool may_ask = for_whom && for_whom->worker && !store.clearing;
  if (may_ask && lacks(0) && lacks(store.saving) && ask_policy(store, bytes)) return false;
  if (lacks(0) && !store.clearing) {
    store.clearing = true;
    store.later = false;
    look_ahead(store);
    const auto needed = [&](const Replica &r) {
      return for_whom && std::any_of(for_whom->items.begin(), for_whom->items.end(),
                                     [&](const auto &i) { return &holder(*i.replica) == &r; });
    };
    look_at_victims(store, [&](Replica &r) {
      if (!lacks(store.saving)) return false;
      if (r.coming || needed(r)) return true;
      store.evictions_until_ranked -= store.evictions_until_ranked != 0;
      if (is_only(r))
        save(r, Room::kMade);
      else
        drop(r);
      return lacks(store.saving);
    });
    store.clearing = false;
  }
  if (lacks(0)) return false;
  if (may_ask) next_asks_anew(store);
  return true;
}

void MemoryState::count_on(Transfer &t, bool yes) noexcept {
  if (t.counted_on == yes) return;
  t.counted_on = yes;
  Replica &r = holder(*t.from);
  uint64_t &saving = stores_[r.space].saving;
  if (yes && r.counted_saves++ == 0) saving += r.bytes;
  if (!yes && --r.counted_saves == 0) saving -= r.bytes;
}

// Brings the only valid replica to another space, so that it may go: the datum's own memory, or wherever there is room.
bool MemoryState::save(Replica &r, Room room) noexcept try {
  constexpr uint8_t kMostInVain = 3;
  if (!r.windows.empty() && is_apart(r)) {
    bool any = false;
    for (Replica *w : r.windows) any |= is_only(*w) && save(*w, room);
    return any;
  }
  if (r.vain >= kMostInVain) return false;
  Datum &d = *r.datum;
  Replicas &all = *d.extra()->replicas;
  if (all.retired) return false;
  if (all.held) {
    stores_[r.space].later = true;
    return false;
  }
  const auto n = static_cast<uint32_t>(stores_.size());
  uint32_t best = CONSORT_NONE;
  for (uint32_t s = 0; s < n; ++s) {
    if (s == r.space || routes_.next(r.space, s) != s || !mover_of_[r.space * n + s]) continue;
    const Replica *there = all.in(s);
    if (!r.windows.empty()) {  // at home alone all of them have a place, once the step that opens them has it
      if (s != rt_.topology->home()) continue;
      if (!there || !there->allocated) {
        stores_[r.space].later = true;
        return false;
      }
    }
    if (s == rt_.topology->home() && is_part(d) && !(there && there->allocated)) continue;  // it has no place there
    // In use there, though not valid: somebody who overwrites it is about to begin.
    if (there && (there->coming || there->pins)) {
      stores_[r.space].later = true;
      return false;
    }
    if (there && (there->lasting || (there->anchored && there->allocated))) {
      best = s;
      break;
    }
    // Two memories that both lack room, and save to each other, would do so for ever.
    if (!stores_[s].refuge) continue;
    if (there && there->allocated) {
    } else if (room == Room::kFree) {
      if (!free_room(stores_[s], bytes_in(d, s))) continue;
    } else if (!make_room(s, bytes_in(d, s), nullptr)) {
      stores_[r.space].later |= !is_stuck(stores_[s]);
      continue;
    }
    if (best == CONSORT_NONE || routes_.cost_ns(r.space, s) < routes_.cost_ns(r.space, best)) best = s;
  }
  if (best == CONSORT_NONE) return false;
  Replica &to = *replica_in(all, d, best);
  if (!to.allocated && allocate(to) < 0) return false;
  auto t = std::make_unique<Transfer>(Transfer{&d, &r, &to, &to, 0, 0, 0, {}, {}, true, false, {}, nullptr});
  if (!hop(*t)) return false;
  count_on(*t, true);
  ++stores_[r.space].saves;
  stores_[r.space].saved_bytes += r.base ? d.pub.bytes : r.bytes;
  t.release();
  return true;
} catch (const std::bad_alloc &) {
  return false;
}

}  // namespace consort
