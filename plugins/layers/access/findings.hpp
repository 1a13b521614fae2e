// findings.hpp — what the layer found: kept where a fault is handled, logged later by a thread outside of it.
//
// One per instance. add() allocates nothing and takes no lock that a body can hold: a signal handler calls it.
#pragma once
#include <consort/plugin.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>

#include "../text.hpp"

namespace access_check {

class Spin {  // held for a few loads and stores, and for system calls on mappings; never while guarded memory is touched
 public:
  void lock() noexcept {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() noexcept { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;  // acquire in lock() pairs with the release in unlock()
};

enum class Kind : uint8_t { kWritesReadOnly, kReadsUnwritten, kOutOfBounds, kKeptPointer, kUndeclared, kDevice };
constexpr const char *kKinds[] = {"writes-read-only", "reads-unwritten", "out-of-bounds",
                                  "kept-pointer",     "undeclared",      "device"};

// A task, as the lines name it.
struct TaskLabel {
  uint64_t task;
  char name[48], codelet[48], unit[24];
};
// A task that owns guarded memory, and how many findings there are about it.
struct Owner {
  TaskLabel label{};
  std::atomic<uint32_t> findings{0};  // relaxed: read by the thread that ends the body
};
inline void set(char *to, size_t room, const char *text) noexcept { std::snprintf(to, room, "%s", text ? text : ""); }

// A datum, as the lines name it.
struct What {
  uint64_t id, bytes;
  char name[64];
};

struct Finding {
  Kind kind;
  bool write;
  bool has_user;          // `user` ran when it happened
  int64_t offset;         // bytes from the begin of the datum's block
  uint32_t block, mode;   // of the datum; the declared mode
  What what;
  TaskLabel task, user;          // that the finding is about; of a kept pointer, its owner
  const char *how;        // a clause for the end of the line; nullptr: none
};

class Findings {
 public:
  // Each task, datum and kind once. Returns whether it is new.
  bool add(const Finding &f) noexcept {
    lock_.lock();
    ++total_;
    bool known = n_ == kMost;
    for (size_t i = 0; i < n_ && !known; ++i) {
      const Finding &o = list_[i];
      known = o.kind == f.kind && o.what.id == f.what.id && o.task.task == f.task.task && o.has_user == f.has_user &&
              (!f.has_user || o.user.task == f.user.task);
    }
    if (!known) list_[n_++] = f;
    else if (n_ == kMost) ++dropped_;
    lock_.unlock();
    return !known;
  }
  // A line for each finding since the last call.
  void tell(const consort_host *host) noexcept {
    for (;;) {
      Finding f;
      lock_.lock();
      const bool more = told_ < n_;
      if (more) f = list_[told_++];
      lock_.unlock();
      if (!more) return;
      host->log(host, 0, text_of(f).c_str());
    }
  }
  void tell_dropped(const consort_host *host) const noexcept {
    if (!dropped_) return;
    layers::Text t;
    t << dropped_ << " more findings are not named: repair the first ones and run again";
    host->log(host, 0, t.c_str());
  }
  uint64_t total() const noexcept { return total_; }
  static layers::Text text_of(const Finding &f) noexcept;

 private:
  static constexpr size_t kMost = 256;
  Spin lock_;  // guards all fields below
  Finding list_[kMost];
  size_t n_ = 0, told_ = 0;
  uint64_t total_ = 0, dropped_ = 0;
};

inline void name_task(layers::Text &t, const TaskLabel &w) {
  t << "task \"" << w.name << "\" (codelet \"" << w.codelet << "\", number " << (w.task & 0xffffffff);
  if (*w.unit) t << ", on " << w.unit;
  t << ")";
}
inline void name_place(layers::Text &t, const Finding &f) {
  t << "byte " << f.offset;
  if (f.block) t << " of block " << f.block;
  t << " of datum \"" << f.what.name << "\" (" << f.what.bytes << " bytes)";
}
inline const char *mode_name(uint32_t mode) noexcept {
  constexpr uint32_t kScratch = 1 << 2;
  return mode & kScratch ? "SCRATCH" : (mode & 3) == 3 ? "RW" : mode & 2 ? "W" : "R";
}

inline layers::Text Findings::text_of(const Finding &f) noexcept {
  layers::Text t;
  t << kKinds[static_cast<size_t>(f.kind)] << ": ";
  if (f.kind == Kind::kKeptPointer) {
    if (f.has_user) name_task(t, f.user);
    else t << "a thread that runs no task";
    t << (f.write ? " writes " : " reads ");
    name_place(t, f);
    t << " by a pointer that ";
    name_task(t, f.task);
    t << " got, which has ended";
  } else {
    name_task(t, f.task);
    t << (f.write ? " writes " : " reads ");
    name_place(t, f);
    switch (f.kind) {
      case Kind::kWritesReadOnly: t << ", which it declared R"; break;
      case Kind::kReadsUnwritten: t << ", which it declared " << mode_name(f.mode) << ", before it has written it"; break;
      case Kind::kOutOfBounds: t << ", which is outside of it"; break;
      case Kind::kUndeclared: t << ", which it did not declare"; break;
      default: break;
    }
  }
  if (f.how) t << f.how;
  return t;
}

}  // namespace access_check
