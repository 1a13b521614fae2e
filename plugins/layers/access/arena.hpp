// arena.hpp — guarded memory: each region has inaccessible pages around it, and is inaccessible after its end.
//
// One range of addresses, reserved at the start and used in turn, so that an address is not given again for long. Any
// thread; the lock is a leaf, and the handler of faults takes it.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "findings.hpp"

namespace access_check {

inline uintptr_t page_size() noexcept {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return page;
}
inline uintptr_t page_down(uintptr_t a) noexcept { return a & ~(page_size() - 1); }
inline uintptr_t page_up(uintptr_t a) noexcept { return page_down(a + page_size() - 1); }

// One block of a datum, for one body.
struct Region {
  uintptr_t low = 0, high = 0;    // its own pages; one more on each side is a guard
  uintptr_t data = 0;             // of the block
  uint64_t bytes = 0;
  uint32_t block = 0, mode = 0;
  bool live = true;               // its body has not ended
  bool untouched = false;         // pages are inaccessible until the first access: contents are not defined
  What what{};
  std::shared_ptr<Owner> owner;
  bool holds(uintptr_t a) const noexcept { return a >= low && a < high; }
  char *begin() const noexcept { return reinterpret_cast<char *>(data); }
};

class Arena {
 public:
  ~Arena() {
    if (begin_) munmap(reinterpret_cast<void *>(begin_), end_ - begin_);
  }
  // Halves the size until the system grants it. False: no address space.
  bool open(uint64_t bytes) noexcept {
    for (; bytes >= (64u << 20); bytes /= 2) {
      void *p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (p == MAP_FAILED) continue;
      begin_ = cursor_ = reinterpret_cast<uintptr_t>(p);
      end_ = begin_ + bytes;
      return true;
    }
    return false;
  }
  bool holds(uintptr_t a) const noexcept { return a >= begin_ && a < end_; }

  // A region whose data end (at_end) or begin at a page's border, as far as the alignment allows. nullptr: no room or memory.
  Region *take(uint64_t bytes, uint64_t align, bool at_end) try {
    const uintptr_t inner = page_up(bytes ? bytes : 1), whole = inner + 2 * page_size();
    auto region = std::make_unique<Region>();
    const std::lock_guard lock(lock_);
    const uintptr_t at = place(whole);
    Region *const r = at ? region.get() : nullptr;
    if (r) {
      r->low = at + page_size();
      r->high = r->low + inner;
      r->bytes = bytes;
      r->data = at_end ? (r->high - bytes) & ~(static_cast<uintptr_t>(align) - 1) : r->low;
      if (mprotect(reinterpret_cast<void *>(r->low), inner, PROT_READ | PROT_WRITE) == 0)
        regions_.emplace(at, std::move(region));
    }
    return region ? nullptr : r;
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
  // Its memory goes back to the system; its record stays while its addresses are not used again, or others are newer.
  void retire(Region &r) noexcept {
    lock_.lock();
    r.live = false;
    const uintptr_t at = r.low - page_size();
    (void)mmap(reinterpret_cast<void *>(at), r.high + page_size() - at, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    retired_.push_back(at);
    while (retired_.size() > kRemembered) {
      const auto old = regions_.find(retired_.front());
      if (old != regions_.end() && !old->second->live) regions_.erase(old);
      retired_.pop_front();
    }
    lock_.unlock();
  }
  // Calls f(region, or nullptr if none is known) under the lock.
  template <class F>
  void at(uintptr_t a, F f) noexcept {
    lock_.lock();
    auto it = regions_.upper_bound(a);
    Region *r = it == regions_.begin() ? nullptr : std::prev(it)->second.get();
    if (r && a >= r->high + page_size()) r = nullptr;
    f(r);
    lock_.unlock();
  }

 private:
  static constexpr size_t kRemembered = 1 << 16;
  // 0: no room beside live regions.
  uintptr_t place(uintptr_t whole) {
    for (int turns = 0; turns < 2;) {
      if (cursor_ + whole > end_) {
        cursor_ = begin_;
        ++turns;
        if (begin_ + whole > end_) return 0;
      }
      auto it = regions_.upper_bound(cursor_);
      if (it != regions_.begin() && std::prev(it)->second->high + page_size() > cursor_) --it;
      bool blocked = false;
      while (it != regions_.end() && it->first < cursor_ + whole && !blocked) {
        if ((blocked = it->second->live)) cursor_ = it->second->high + page_size();
        else it = regions_.erase(it);
      }
      if (blocked) continue;
      // A page of an ended region may have been made accessible after a fault.
      (void)mprotect(reinterpret_cast<void *>(cursor_), whole, PROT_NONE);
      return std::exchange(cursor_, cursor_ + whole);
    }
    return 0;
  }

  uintptr_t begin_ = 0, end_ = 0;
  Spin lock_;  // guards all fields below
  uintptr_t cursor_ = 0;
  std::map<uintptr_t, std::unique_ptr<Region>> regions_;  // by the address of the guard before them
  std::deque<uintptr_t> retired_;                         // oldest first
};

}  // namespace access_check
