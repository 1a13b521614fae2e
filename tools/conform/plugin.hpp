// plugin.hpp — the subject of a case, loaded into this process and started.
//
// Its own tables are never called through: as in the kernel they are copied once, as far as they reach, and what is
// missing is NULL in the copy.
#pragma once
#include <consort/plugin.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "case.hpp"
#include "host.hpp"

namespace conform {

// A shared object and what its entry answered.
class Library {
 public:
  explicit Library(const std::string &path);
  ~Library();                                            // does not unload: unload() does
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  const std::string &error() const { return error_; }    // "": it is loaded
  consort_entry_fn *entry() const { return entry_; }
  bool unload();

 private:
  void *handle_ = nullptr;
  consort_entry_fn *entry_ = nullptr;
  std::string error_;
};

// Loads, asks the entry for the plugin that the subject names, starts it. need() of the trial ends the case where that fails.
class Plugin {
 public:
  explicit Plugin(Trial &, bool started = true);         // with a host of its own, which has the subject's parameters
  Plugin(Trial &, Host &, bool started = true);          // with another
  ~Plugin();                                             // ends it, if it runs
  Plugin(const Plugin &) = delete;
  Plugin &operator=(const Plugin &) = delete;

  Host &host() { return host_; }
  const consort_host *table() const { return host_.table(); }
  const consort_plugin &manifest() const { return manifest_; }   // the copy
  const consort_plugin *theirs() const { return theirs_; }
  void *self() const { return self_; }
  bool running() const { return running_; }
  bool has_flag(uint32_t flag) const { return manifest_.flags & flag; }

  // Ops is a consort_…_ops; the copy lives as long as the caller's.
  template <class Ops>
  Ops ops() const {
    Ops mine = {};
    uint32_t size;
    std::memcpy(&size, manifest_.ops, sizeof size);
    std::memcpy(static_cast<void *>(&mine), manifest_.ops, std::min<size_t>(size, sizeof mine));
    return mine;
  }

  void must_start();                                     // where it does not start on this machine the case is skipped
  consort_status start(bool said = false);               // init, as often as it was stopped; said: the case has told of it
  void stop();                                           // quiesce and fini

 private:
  void load();

  Trial &t_;
  std::unique_ptr<Host> own_;
  Host &host_;
  Library library_;
  const consort_plugin *theirs_ = nullptr;
  consort_plugin manifest_{};
  void *self_ = nullptr;
  bool running_ = false;
};

// Of the module, the plugin that the subject names, or nullptr.
const consort_plugin *find_plugin(const consort_module *, const std::string &name);
// init, quiesce and fini as one may call them: holes are filled.
consort_plugin copy_manifest(const consort_plugin *);

// Memory in use after each of several equal parts of work: bytes of the heap, and of mapped pages. A leak adds to every part,
// a cache that fills does so for a while. So parts are repeated until some in a row have added nothing, kMost at most: the
// verdict depends on the slope, not on what the allocator kept before, nor on how far a busy machine comes. Fewer than kLeast
// parts, of work that takes long, tell nothing. With a sanitizer, which finds leaks by itself, nothing grows.
class MemoryMarks {
 public:
  static constexpr uint32_t kLeast = 12, kMost = 60;
  // bytes: less than a leak adds to a part; rounds: of a part, each of which a leaked mapping adds a page to; seconds: after
  // which no part begins, of computing by this process, or ten times as many in all.
  MemoryMarks(size_t bytes, uint32_t rounds, double seconds = 20);
  void mark();                                           // the end of a part; the first ones find caches empty
  bool is_undecided() const {                            // is another part needed?
    return heap_.size() <= kMost && (heap_.size() < kRow + 2 || grew()) && has_time();
  }
  bool leaks() const { return grew() && heap_.size() > kLeast; }
  size_t growth() const { return growth_of(heap_) >= bytes_ ? growth_of(heap_) : growth_of(mapped_); }  // of a part

 private:
  static constexpr size_t kRow = 4;                      // parts: what a thread frees late evens out
  bool grew() const { return growth_of(heap_) >= bytes_ || growth_of(mapped_) >= 4096 * size_t{rounds_}; }
  bool has_time() const;
  static size_t growth_of(const std::vector<size_t> &marks) {
    if (marks.size() <= kRow) return 0;
    const size_t before = marks[marks.size() - 1 - kRow];
    return marks.back() > before ? (marks.back() - before) / kRow : 0;
  }
  size_t bytes_;
  uint32_t rounds_;
  double seconds_, began_, computed_before_;
  std::vector<size_t> heap_, mapped_;
};

// What this process has now.
size_t count_threads();
bool threads_come_down_to(size_t most);  // one that was joined is seen for a moment longer
size_t count_descriptors();

}  // namespace conform
