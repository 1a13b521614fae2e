// admission.cpp — Memory, the part that tasks see: their working sets, granted one after the other.
#include <algorithm>
#include <utility>

#include "base/last_error.hpp"
#include "exec/queue.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "graph/formats.hpp"
#include "graph/reduction.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

using coherence::Event;

// Which replica each datum will be used from: a valid one that the unit reaches, else one in its own memory.
bool MemoryState::choose(Staging &s) {
  for (auto &item : s.items) {
    Replicas &all = *replicas_of(*item.datum);
    item.replica = nullptr;
    const auto usable = [&](const Replica &r) { return r.allocated && (s.reach >> r.space & 1) && !r.coming; };
    for (const auto &r : all.all)
      if (usable(*r) && (all.is_valid(*r) || !(item.mode & CONSORT_M_R)) && (!item.replica || r->space == s.space))
        item.replica = r.get();
    if (!item.replica) item.replica = replica_in(all, *item.datum, s.space);
  }
  return true;
}

bool MemoryState::is_stuck(const Store &store) const noexcept {
  const bool asking = store.asked == Store::kToAsk || store.asked == Store::kBeingAsked;
  return !transfers_ && !store.pinned && !store.later && !asking;
}

// The driver has less than it said; or it has that much, but no single piece so large: who wants less may find it still.
// What is pinned or on its way will be free one day; else this is the end.
MemoryState::Short MemoryState::short_of(Staging &s, consort_status status) noexcept {
  Store &store = stores_[s.space];
  const LastError why;
  if (status == CONSORT_E_NOMEM) {
    drop_spares(store);
    store.counted = true;
    store.later = false;
    uint64_t missing = 0;
    for (const auto &item : s.items)
      if (item.replica->space == s.space && !item.replica->allocated) missing += bytes_in(*item.datum, s.space);
    for (const auto &own : s.scratch) missing += bytes_in(*own.replica->datum, s.space);
    store.limit = std::min<uint64_t>(store.limit, store.used + missing - 1);  // so much there is not
    for (const Replica *r = store.oldest; r; r = r->newer)
      if (std::none_of(s.items.begin(), s.items.end(), [&](const auto &i) { return &holder(*i.replica) == r; }))
        return Short::kTryAgain;
    if (!is_stuck(store)) return Short::kWait;
  }
  refuse(s, status, [&] {
    return "no memory in " + std::string(rt_.topology->spaces()[s.space].desc.name) + ": " + why.text();
  });
  return Short::kRefused;
}

// The whole working set, or nothing. True: granted, or refused for good (status).
bool MemoryState::grant(Staging &s) noexcept try {
  choose(s);
  uint64_t missing = 0, whole = 0;
  for (const auto &item : s.items)
    if (has_no_place(*item.replica)) {
      refuse(s, CONSORT_E_NOMEM, [&] {
        return "'" + rt_.data.name(*item.datum) + "' is a part of a datum for which there was no memory at home";
      });
      return true;
    }
  for (auto item = s.items.begin(); item != s.items.end(); ++item) {
    const Replica &r = *item->replica, &own = holder(*item->replica);
    const bool shares = &own != &r || !r.windows.empty();
    const bool named = shares && std::any_of(s.items.begin(), item,
                                             [&](const auto &i) { return &holder(*i.replica) == &own; });
    const uint64_t bytes = r.space != s.space || named ? 0 : &own == &r ? bytes_in(*item->datum, s.space) : own.bytes;
    if (!r.lasting) whole += bytes;
    if (!r.allocated) missing += bytes;
  }
  for (const auto &own : s.scratch) {
    const uint64_t bytes = bytes_in(*own.replica->datum, s.space);
    whole += bytes;
    missing += bytes;
  }
  Store &store = stores_[s.space];
  if (store.counted && whole > store.limit) {
    if (const Short left = leave_windows(s); left != Short::kRefused) return left == Short::kTryAgain && grant(s);
    refuse(s, CONSORT_E_NOMEM, [&] {
      return "it needs " + std::to_string(whole) + " bytes in " + rt_.topology->spaces()[s.space].desc.name +
             " at once, and there are " + std::to_string(store.limit) + ": use smaller data, or raise the limit";
    });
    return true;
  }
  if (const uint64_t held = store.counted ? held_by_its_thread(s) : 0; held && held + whole > store.limit) {
    refuse(s, CONSORT_E_NOMEM, [&] {
      return "it needs " + std::to_string(whole) + " bytes in " + rt_.topology->spaces()[s.space].desc.name +
             ", and of the " + std::to_string(store.limit) + " that there are this thread holds " + std::to_string(held) +
             " itself: release some of it (consort_release) first, or raise the limit";
    });
    return true;
  }
  if (missing && !make_room(s.space, missing, &s)) {
    if (!is_stuck(store)) return false;
    next_asks_anew(store);
    refuse(s, CONSORT_E_NOMEM, [&] {
      return "it needs " + std::to_string(missing) + " bytes more in " + rt_.topology->spaces()[s.space].desc.name +
             ", where " + std::to_string(store.used - store.spare_bytes) + " of " + std::to_string(store.limit) +
             " are taken by contents that could not be copied elsewhere";
    });
    return true;
  }
  consort_status status = CONSORT_OK;
  for (auto &own : s.scratch)
    if (status >= 0) status = allocate(*own.replica);
  for (auto &item : s.items)
    if (status >= 0 && !item.replica->allocated) status = allocate(*item.replica);
  if (status < 0) {
    give_back_scratch(s);  // nobody else could have it while this waits
    switch (short_of(s, status)) {
      case Short::kRefused:
        return true;
      case Short::kTryAgain:
        return grant(s);  // with less than that as the limit: each time something goes, so it ends
      case Short::kWait:
        return false;
    }
  }
  s.granted = true;
  for (auto &own : s.scratch) pin(*own.replica);
  for (auto &item : s.items) {
    pin(*item.replica);
    for (Transfer *t : item.replica->going) count_on(*t, false);
    for (Replica *r = item.replica; r; r = r->base) {
      r->unwanted = r->leaves = r->prefetched = false;
      r->chosen = 0;
    }
    item.claimed = item.mode & CONSORT_M_W;
    if (item.claimed) ++item.datum->extra()->replicas->claims;
  }
  for (auto &item : s.items) {
    const Replicas &all = *item.datum->extra()->replicas;
    if (((item.mode & CONSORT_M_R) && !all.is_valid(*item.replica)) || item.replica->coming)
      fetch(*item.replica, &s, nullptr);
    if (!(item.mode & CONSORT_M_W)) continue;
    for (Transfer *t : item.replica->going) {  // one that makes room: it may have been chosen before this task came
      t->blocked.push_back(&s);
      if (t->wish || s.rank > 0) mover_of(*t)->hurry(t, order_of(*t));
      ++s.awaited;
    }
  }
  return true;
} catch (const std::bad_alloc &) {
  refuse(s, CONSORT_E_NOMEM, [] { return "no memory for the records of its data's replicas"; });
  return true;
}

// Parts that take less room by themselves than their whole does: those that are windows get memory of their own.
MemoryState::Short MemoryState::leave_windows(Staging &s) noexcept {
  Short found = Short::kRefused;
  for (const auto &item : s.items) {
    Replica &r = holder(*item.replica);
    if (&r == item.replica || r.stays() || r.space != s.space) continue;
    if (r.pins) return Short::kWait;
    stores_[r.space].later = false;
    if (is_only(r)) {
      if (save(r, Room::kMade) || stores_[r.space].later) return Short::kWait;
      return Short::kRefused;
    }
    drop(r);
    found = Short::kTryAgain;
    break;  // the others may have been its windows
  }
  return found;
}

void MemoryState::give_back_scratch(Staging &s) noexcept {
  for (auto &own : s.scratch) {
    if (own.replica->pins) unpin(*own.replica);
    if (own.replica->allocated) release(*own.replica);
  }
}

void MemoryState::begin(Staging &s) noexcept {
  for (auto &item : s.items) {
    if (!(item.mode & CONSORT_M_W)) continue;
    Replicas &all = *item.datum->extra()->replicas;
    item.before = all.valid;
    all.valid =
        coherence::after(all.valid, item.replica->space, item.mode & CONSORT_M_R ? Event::kUpdate : Event::kWrite);
    item.version = ++all.version;
    nobody_else(all);
  }
}

void MemoryState::complete(Staging *s) noexcept {
  ++active_;
  complete_.push_back(s);
}

// In each space, in order, as far as there is room.
void MemoryState::serve() noexcept {
  if (has_hints()) heed();
  for (Store &store : stores_)
    while (!store.waiting.empty() && grant(*store.waiting.front())) {
      Staging *const s = store.waiting.pop_front();
      s->queued = false;
      if (s->awaited == 0) complete(s);
    }
  fetch_wanted();
  for (uint32_t i = 0; i < stores_.size(); ++i)
    if (!stores_[i].wished.empty()) pursue(i);
  for (uint32_t i = 0; save_ahead_ && i < stores_.size(); ++i) save_ahead(i);
}

void MemoryState::hand_out(ThreadState &thread, Lock &lock) noexcept {
  if (to_ask_) consult(thread, lock);
  StagingQueue mine = std::exchange(complete_, {});
  lock.unlock();
  while (!mine.empty()) {
    Staging *const s = mine.pop_front();  // it may be gone once its task is told
    if (s->worker) {
      s->worker->staging.fetch_sub(1, std::memory_order_relaxed);
      // The edges of one that is issued behind others still stand in its words for the mailbox.
      if (s->task->bits & kFollowed)
        executor_of(*s->worker).queue->offer(s->task);
      else
        s->worker->post(s->task);
    } else {
      resume_special(rt_, thread, s->task);
      if (!thread.seat && !thread.in_callback) settle_down(rt_, thread);
    }
  }
}

consort_status MemoryState::stage(ThreadState &thread, Worker &w, Frame &f, Task *t, Datum **blamed) noexcept try {
  Lock lock(mutex_);
  if (!t->extra) {
    Task *lent = thread.take_lent();
    if (!lent) return set_error(CONSORT_E_NOMEM, "no memory for the record of a task's data");
    t->extra = new (lent) Extra;
  }
  Staging *s = t->extra->staging;
  if (!s) {
    if (has_hints()) heed();  // of what may go
    auto made = std::make_unique<Staging>(Staging{
        t, &w, w.unit.desc.space, {}, {}, w.reach, 0, thread.rank_of(t->pub.id), false, 0, {}, nullptr, nullptr});
    for (uint32_t i = 0; i < t->pub.naccess; ++i) {
      const consort_access &a = t->pub.access[i];
      if (stages_scratch(a, made->space)) made->scratch.push_back({i, scratch_in(*Datum::of(a.datum), made->space)});
      if (!is_moved(a)) continue;
      Datum *d = datum_for(a);
      if (!d->pub.bytes) continue;
      const bool empty = (t->bits & kUnite) && !(d->state.load(std::memory_order_relaxed) & data_state::kValid);
      const uint32_t mode = empty ? uint32_t{CONSORT_M_W} : a.mode & CONSORT_M_REDUX ? uint32_t{CONSORT_M_RW} : a.mode;
      auto same =
          std::find_if(made->items.begin(), made->items.end(), [&](const auto &item) { return item.datum == d; });
      if (same != made->items.end())
        same->mode |= mode;
      else
        made->items.push_back({d, mode, nullptr});
    }
    s = t->extra->staging = made.release();
    keep(*s);
    Store &store = stores_[s->space];
    if (!store.waiting.empty() || !grant(*s)) {
      store.waiting.push_back(s);
      w.staging.fetch_add(1, std::memory_order_relaxed);
      if (to_ask_) hand_out(thread, lock);
      return CONSORT_AGAIN;
    }
    if (s->awaited) {
      w.staging.fetch_add(1, std::memory_order_relaxed);
      if (to_ask_) hand_out(thread, lock);  // about a space on the way
      return CONSORT_AGAIN;
    }
    ++active_;
  }
  if (s->status < 0) {
    *blamed = s->items.empty() ? nullptr : s->items[0].datum;
    return set_error(s->status, s->text);
  }
  begin(*s);
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    const consort_access &a = t->pub.access[i];
    const Datum *d = is_moved(a) ? datum_for(a) : nullptr;
    for (const auto &item : s->items)
      if (item.datum == d) f.views[i] = item.replica->view;
  }
  for (const auto &own : s->scratch) f.views[own.access] = own.replica->view;
  return CONSORT_OK;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the record of a task's data");
}

std::unique_ptr<Replica> MemoryState::scratch_in(Datum &d, uint32_t space) {
  auto r = std::make_unique<Replica>();
  r->datum = &d;
  r->space = space;
  r->anchored = true;  // it goes when its task ends, not before
  r->own_view.reset(new std::byte[std::max(1u, d.layout->ops->view_size)]());
  r->view = r->own_view.get();
  return r;
}

void MemoryState::keep(Staging &s) noexcept {
  s.next = stagings_;
  if (stagings_) stagings_->previous = &s;
  stagings_ = &s;
}

void MemoryState::end(ThreadState &thread, Task *t) noexcept {
  Lock lock(mutex_);
  std::unique_ptr<Staging> s(std::exchange(t->extra->staging, nullptr));
  --active_;
  outlook_.refresh();  // what was noted of this task goes with it
  for (const auto &item : s->items) outlook_.used(*item.datum, t->pub.id);
  (s->previous ? s->previous->next : stagings_) = s->next;
  if (s->next) s->next->previous = s->previous;
  if (s->granted)
    for (auto &item : s->items) unpin(*item.replica);
  give_back_scratch(*s);
  if (!s->worker && s->status >= 0 && t->kind == TaskKind::kHold) begin(*s);  // the application wrote at home
  for (auto &item : s->items) {
    if (!item.replica) continue;  // no memory for its records: nothing was chosen
    Replicas &all = *item.datum->extra()->replicas;
    if (std::exchange(item.claimed, false)) --all.claims;
    // Not behind one whose follower on the same queue writes already: it is copied when that one ends.
    if ((item.mode & CONSORT_M_W) && all.through && item.version == all.version) write_through(*item.datum);
    leave(holder(*item.replica));
  }
  serve();
  hand_out(thread, lock);
}

// What it changed is as before wherever that memory was left alone meanwhile: nobody else uses it while somebody writes.
// Where the one before it in the same queue ran again, elsewhere, it is as that one left it.
bool MemoryState::undo(ThreadState &thread, Task *t) noexcept {
  {
    Lock lock(mutex_);
    const coherence::Spaces gone = rt_.lost.spaces(*rt_.topology);
    Staging *const s = t->extra ? t->extra->staging : nullptr;
    for (uint32_t i = 0; i < t->pub.naccess && !s; ++i) {  // all was there
      const consort_access &a = t->pub.access[i];
      if (changes(a.mode) && a.mode != CONSORT_M_W && !(valid_spaces(*Datum::of(a.datum)) & ~gone)) return false;
    }
    if (!s) return true;
    const auto as_before = [&](const Staging::Item &item) {
      coherence::Spaces left = 0;
      for (const auto &r : item.datum->extra()->replicas->all)
        if (r->allocated && !r->coming && !r->base && r->windows.empty()) left |= coherence::one(r->space);
      return item.before & left & ~gone;
    };
    const auto was_changed = [&](const Staging::Item &item) {
      const Replicas &all = *item.datum->extra()->replicas;
      return item.version != all.version && (all.valid & ~gone);
    };
    for (const auto &item : s->items)
      if ((item.mode & CONSORT_M_W) && (item.mode & CONSORT_M_R) && !as_before(item) && !was_changed(item)) return false;
    for (auto &item : s->items) {
      if (!(item.mode & CONSORT_M_W)) continue;
      Replicas &all = *item.datum->extra()->replicas;
      if (const coherence::Spaces before = as_before(item); before || !was_changed(item)) {
        all.valid = before;
        ++all.version;
      }
      item.mode &= ~uint32_t{CONSORT_M_W};
    }
  }
  end(thread, t);
  return true;
}

DatumExtra *MemoryState::forget(Datum &d) noexcept {
  Lock lock(mutex_);  // whoever found the datum's name alive under it has it until he lets go
  for (auto w = wishes_.begin(); w != wishes_.end();) {
    MemoryRequest &wish = *(w++)->second;
    if (wish.begun && wish.datum == &d) over(wish);
  }
  outlook_.forget(d);
  DatumExtra *const e = d.extra();
  if (!e || !e->replicas) return d.rare.exchange(nullptr, std::memory_order_relaxed);
  Replicas &all = *e->replicas;
  for (auto *group : {&all.all, &all.left_over})
    for (auto &r : *group) {
      if (r->base) std::erase(r->base->windows, r.get()), close_window(*r);
      close_windows(*r);
      if (r->allocated && !r->lasting) release(*r);
      unlist(*r);
      --stores_[r->space].replicas;
    }
  give_back_lent(all.lent);
  e->replicas.reset();
  return d.rare.exchange(nullptr, std::memory_order_relaxed);
}

void MemoryState::invalidate(Datum &d) noexcept {
  Lock lock(mutex_);
  if (!d.extra() || !d.extra()->replicas) return;
  d.extra()->replicas->valid = 0;
  ++d.extra()->replicas->version;
}

MemoryState::Count MemoryState::count(uint32_t space) noexcept {
  Lock lock(mutex_);
  const Store &s = stores_[space];
  return {s.limit, s.used - s.spare_bytes, s.spare_bytes, s.evictions, s.saves, s.saved_bytes, s.needed_evictions,
          static_cast<uint32_t>(s.waiting.size()), static_cast<uint32_t>(s.wished.size())};
}

MemoryState::Traffic MemoryState::traffic(uint32_t from, uint32_t to) noexcept {
  Lock lock(mutex_);
  return traffic_[from * stores_.size() + to];
}

std::string MemoryState::describe(TaskName name) noexcept try {
  Lock lock(mutex_);
  const Staging *s = stagings_;  // the record of a task that may be ending is not asked
  while (s && s->task->pub.id != name) s = s->next;
  if (!s) return "";
  const Store &store = stores_[s->space];
  const std::string space = rt_.topology->spaces()[s->space].desc.name;
  if (s->granted) return s->awaited ? std::to_string(s->awaited) + " of its data are on their way to " + space : "";
  const size_t place = store.waiting.place_of(s);
  return "it waits for room in " + space + " (" + std::to_string(store.used - store.spare_bytes) + " of " +
         std::to_string(store.limit) + " bytes are in use), behind " + std::to_string(place) + " others";
} catch (const std::bad_alloc &) {
  return "";
}

std::string MemoryState::describe() noexcept try {
  Lock lock(mutex_);
  std::string text;
  for (uint32_t i = 0; i < stores_.size(); ++i) {
    const Store &store = stores_[i];
    if (!store.counted) continue;
    text += std::string(text.empty() ? "" : "\n") + "space " + rt_.topology->spaces()[i].desc.name + ": " +
            std::to_string(store.used - store.spare_bytes) +
            (store.limit == UINT64_MAX ? "" : " of " + std::to_string(store.limit)) + " bytes in use";
    uint64_t idle = 0;
    for (const Replica *r = store.oldest; r; r = r->newer) idle += r->bytes;
    text += ", " + std::to_string(idle) + " of them by nobody just now; " + std::to_string(store.evictions) +
            " evictions, " + std::to_string(store.needed_evictions) + " of them of what was needed; " +
            std::to_string(store.saves) + " saves of " + std::to_string(store.saved_bytes) + " bytes";
    if (!store.wished.empty())
      text += "; " + std::to_string(store.wished.size()) + " prefetches wait for room or a way";
    if (store.waiting.empty()) continue;
    const Staging &front = *store.waiting.front();
    text +=
        "; " + std::to_string(store.waiting.size()) + " tasks wait for room, first '" + task_label(rt_, *front.task) + "'";
  }
  for (uint32_t from = 0; from < stores_.size(); ++from)
    for (uint32_t to = 0; to < stores_.size(); ++to) {
      const Traffic &t = traffic_[from * stores_.size() + to];
      if (!t.copies && !t.failed) continue;
      text += std::string(text.empty() ? "" : "\n") + "link " + rt_.topology->spaces()[from].desc.name + " to " +
              rt_.topology->spaces()[to].desc.name + ": " + std::to_string(t.copies) + " data, " +
              std::to_string(t.bytes) + " bytes";
      if (t.failed) text += ", " + std::to_string(t.failed) + " failed";
    }
  if (transfers_) text += (text.empty() ? "" : "\n") + std::to_string(transfers_) + " data are on their way";
  return text;
} catch (const std::bad_alloc &) {
  return "";
}

}  // namespace consort
