// homes.hpp — the application's own memory of registered data: inaccessible while bodies run, so that a body that touches
// what it did not declare is found. It stays so between bodies, because each change of rights is expensive: data that the
// application acquires are opened, and a thread that runs no body opens what it touches.
//
// Only pages that belong to one datum as a whole are protected. What is left of a datum is compared before and after a
// body that runs alone. Any thread; the lock is a leaf, and the handler of faults takes it.
#pragma once
#include <map>
#include <mutex>

#include "arena.hpp"
#include "layout.hpp"

namespace access_check {

// Set while this thread reads homes under the lock: a page may belong to a second datum, which is protected.
alignas(64) inline thread_local constinit bool reading_homes = false;

class Homes {
 public:
  explicit Homes(bool protect) noexcept : protect_(protect) {}
  void let_be() noexcept {  // from now on no page is protected: devices or other ranks use this memory
    const std::lock_guard lock(lock_);
    protect_ = false;
    unguard_all();
  }
  // A datum has been used elsewhere than at home: the kernel writes homes, too. relaxed: a task later is soon enough
  void moved() noexcept { moved_.store(true, std::memory_order_relaxed); }
  bool are_moved() const noexcept { return moved_.load(std::memory_order_relaxed); }
  void exclude(uint64_t id) noexcept {  // the kernel writes it by itself: it is not compared
    const std::lock_guard lock(lock_);
    if (const auto it = homes_.find(id); it != homes_.end()) it->second.loose.clear();
  }

  void add(const consort_body_datum &d) {
    Home h;
    h.what = {d.id, d.ops->bytes ? d.ops->bytes(d.shape) : 0, {}};
    set(h.what.name, sizeof h.what.name, d.name);
    h.bytes = ranges_of(*d.ops, d.shape, d.view);
    if (h.bytes.empty()) return;
    uint64_t loose = 0;
    for (const Range &r : h.bytes) {
      const Range inner{page_up(r.begin), page_down(r.end)};
      if (inner.begin < inner.end) {
        h.pages.push_back(inner);
        if (r.begin < inner.begin) h.loose.push_back({r.begin, inner.begin});
        if (inner.end < r.end) h.loose.push_back({inner.end, r.end});
      } else {
        h.loose.push_back(r);
      }
    }
    for (const Range &r : h.loose) loose += r.bytes();
    if (loose > kMostLoose) h.loose.clear();
    const std::lock_guard lock(lock_);
    homes_[d.id] = std::move(h);
  }
  void remove(uint64_t id) noexcept {
    Home gone;  // freed without the lock
    const std::lock_guard lock(lock_);
    const auto it = homes_.find(id);
    if (it == homes_.end()) return;
    unguard(it->second);
    gone = std::move(it->second);
    homes_.erase(it);
  }

  // The ranges are accessible until close(); calls are counted.
  void open(const std::vector<Range> &ranges) noexcept {
    const std::lock_guard lock(lock_);
    each_met(ranges, [&](Home &h) {
      ++h.opened;
      ++h.changes;
      unguard(h);
    });
  }
  void close(const std::vector<Range> &ranges) noexcept {
    const std::lock_guard lock(lock_);
    each_met(ranges, [&](Home &h) {
      ++h.changes;
      if (h.opened) --h.opened;
      if (running_) guard(h);  // else the next body does
    });
  }

  // What a body that begins alone sees of the parts that no page protects.
  struct Snapshot {
    struct One { uint64_t id, changes; std::vector<char> bytes; };
    uint64_t turn = 0;
    std::vector<One> all;
  };
  void enter(const std::vector<uint64_t> &declared, bool compare, Snapshot &out) noexcept {
    const std::lock_guard lock(lock_);
    ++turn_;
    for (auto &[id, h] : homes_) guard(h);  // most are since an earlier body
    if (running_++ == 0 && compare && protect_ && !are_moved()) {
      reading_homes = true;
      try {
        take(declared, out);
      } catch (const std::bad_alloc &) {  // nothing is compared
        out.all.clear();
      }
      reading_homes = false;
    }
    out.turn = turn_;
  }
  // Calls f(what, offset) for each datum that has changed since, if no other body ran meanwhile.
  template <class F>
  void leave(const Snapshot &before, F f) noexcept {
    const std::lock_guard lock(lock_);
    reading_homes = true;
    if (protect_ && !are_moved() && turn_ == before.turn)
      for (const auto &one : before.all) compare(one, f);
    reading_homes = false;
    ++turn_;
    --running_;
  }

  // A fault at `a`. Calls f(what, offset) if a home is there, and makes it accessible. False: none is.
  template <class F>
  bool fault(uintptr_t a, F f) noexcept {
    if (reading_homes) return mprotect(reinterpret_cast<void *>(page_down(a)), page_size(), PROT_READ | PROT_WRITE) == 0;
    const std::lock_guard lock(lock_);
    for (auto &[id, h] : homes_)
      for (const Range &r : h.pages)
        if (a >= r.begin && a < r.end) {
          f(h.what, static_cast<int64_t>(offset_in(h, a)));
          ++h.changes;
          unguard(h);
          return true;
        }
    return false;
  }
  bool has(uint64_t id, uintptr_t a) const noexcept {  // whether `a` is in the home of that datum, or it has none
    const std::lock_guard lock(lock_);
    const auto it = homes_.find(id);
    return it == homes_.end() || (a >= it->second.bytes.front().begin && a < it->second.bytes.back().end);
  }

 private:
  static constexpr uint64_t kMostLoose = 1 << 20, kMostCompared = 8 << 20;
  struct Home {
    What what{};
    std::vector<Range> bytes, pages, loose;
    uint32_t opened = 0;
    uint64_t changes = 0;  // others may have written it
    bool guarded = false;
  };

  void set_pages(const Home &h, int how) const noexcept {
    for (const Range &r : h.pages) (void)mprotect(reinterpret_cast<void *>(r.begin), r.bytes(), how);
  }
  void guard(Home &h) noexcept {
    if (!protect_ || h.opened || h.guarded || h.pages.empty()) return;
    set_pages(h, PROT_NONE);
    h.guarded = true;
  }
  void unguard(Home &h) noexcept {
    if (!h.guarded) return;
    set_pages(h, PROT_READ | PROT_WRITE);
    h.guarded = false;
  }
  void unguard_all() noexcept {
    for (auto &[id, h] : homes_) unguard(h);
  }
  template <class F>
  void each_met(const std::vector<Range> &ranges, F f) noexcept {
    if (ranges.empty()) return;
    const Range whole{ranges.front().begin, ranges.back().end};
    for (auto &[id, h] : homes_)
      if (whole.meets({h.bytes.front().begin, h.bytes.back().end})) f(h);
  }
  void take(const std::vector<uint64_t> &declared, Snapshot &out) {
    uint64_t left = kMostCompared;
    for (auto &[id, h] : homes_) {
      if (h.opened || h.loose.empty() || std::find(declared.begin(), declared.end(), id) != declared.end()) continue;
      auto &one = out.all.emplace_back(Snapshot::One{id, h.changes, {}});
      for (const Range &r : h.loose) left -= std::min(left, r.bytes());
      if (!left) return out.all.pop_back();
      for (const Range &r : h.loose)
        one.bytes.insert(one.bytes.end(), reinterpret_cast<char *>(r.begin), reinterpret_cast<char *>(r.end));
    }
  }
  template <class F>
  void compare(const Snapshot::One &one, F f) noexcept {
    const auto it = homes_.find(one.id);
    if (it == homes_.end() || it->second.changes != one.changes || it->second.opened) return;
    const char *was = one.bytes.data();
    for (const Range &r : it->second.loose) {
      const char *is = reinterpret_cast<const char *>(r.begin);
      if (std::memcmp(was, is, r.bytes()) != 0) {
        uint64_t i = 0;
        while (was[i] == is[i]) ++i;
        return f(it->second.what, static_cast<int64_t>(offset_in(it->second, r.begin + i)));
      }
      was += r.bytes();
    }
  }
  static uint64_t offset_in(const Home &h, uintptr_t a) noexcept {  // bytes of the datum before it, without gaps
    uint64_t n = 0;
    for (const Range &r : h.bytes) {
      if (a < r.end) return n + (a > r.begin ? a - r.begin : 0);
      n += r.bytes();
    }
    return n;
  }

  std::atomic<bool> moved_{false};  // relaxed: see moved()
  mutable Spin lock_;  // guards all fields below
  bool protect_;
  uint32_t running_ = 0;
  uint64_t turn_ = 0;   // bodies begun and ended
  std::map<uint64_t, Home> homes_;
};

}  // namespace access_check
