// plugin.hpp — the subject of a case, loaded into this process and started.
//
// Calls never use its own tables: as in the kernel these are copied once, up to their size, and missing functions are
// NULL in the copy.
#pragma once
#include <consort/plugin.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "case.hpp"
#include "host.hpp"

namespace conform {

// A shared object and the result of its entry.
class Library {
 public:
  explicit Library(const std::string &path);
  ~Library();                                            // does not unload; see unload()
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;

  const std::string &error() const { return error_; }    // "": loaded
  consort_entry_fn *entry() const { return entry_; }
  bool unload();

 private:
  void *handle_ = nullptr;
  consort_entry_fn *entry_ = nullptr;
  std::string error_;
};

// Loads the file, asks its entry for the subject's plugin, starts it. If that fails, need() ends the case.
class Plugin {
 public:
  explicit Plugin(Trial &, bool started = true);         // with a host of its own, which has the subject's parameters
  Plugin(Trial &, Host &, bool started = true);          // with a given host
  ~Plugin();                                             // ends it if it runs
  Plugin(const Plugin &) = delete;
  Plugin &operator=(const Plugin &) = delete;

  Host &host() { return host_; }
  const consort_host *table() const { return host_.table(); }
  const consort_plugin &manifest() const { return manifest_; }   // of the kit's copy
  const consort_plugin *theirs() const { return theirs_; }
  void *self() const { return self_; }
  bool running() const { return running_; }
  bool has_flag(uint32_t flag) const { return manifest_.flags & flag; }

  // Ops is a consort_…_ops; the copy belongs to the caller.
  template <class Ops>
  Ops ops() const {
    Ops mine = {};
    uint32_t size;
    std::memcpy(&size, manifest_.ops, sizeof size);
    std::memcpy(static_cast<void *>(&mine), manifest_.ops, std::min<size_t>(size, sizeof mine));
    return mine;
  }

  void must_start();                                     // skips the case if it does not start on this machine
  consort_status start(bool said = false);               // init, also after a stop; said: the case has reported the step
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

// Returns the module's plugin that the subject names, or nullptr.
const consort_plugin *find_plugin(const consort_module *, const std::string &name);
// Returns a copy whose init, quiesce and fini can be called: missing ones are filled.
consort_plugin copy_manifest(const consort_plugin *);

// Memory in use after each of several equal parts of work: bytes of the heap and of mapped pages. A leak adds to every
// part; a cache adds only until it is full. So parts are repeated until several in a row have added nothing, at most
// kMost. The verdict depends on the slope, not on memory kept before, nor on the speed of the machine. Fewer than
// kLeast parts, of slow work, give no verdict. With a sanitizer, which finds leaks itself, growth is ignored.
class MemoryMarks {
 public:
  static constexpr uint32_t kLeast = 12, kMost = 60;
  // bytes: less than a leak adds to a part. rounds: of a part, each of which adds a page for a leaked mapping. seconds:
  // no part begins after that CPU time, or after ten times as much wall time.
  MemoryMarks(size_t bytes, uint32_t rounds, double seconds = 20);
  void mark();                                           // the end of a part; the first ones fill caches
  bool is_undecided() const {                            // whether another part is needed
    return heap_.size() <= kMost && (heap_.size() < kRow + 2 || grew()) && has_time();
  }
  bool leaks() const { return grew() && heap_.size() > kLeast; }
  size_t growth() const { return growth_of(heap_) >= bytes_ ? growth_of(heap_) : growth_of(mapped_); }  // of a part

 private:
  static constexpr uint32_t kNap = 5'000;                // us, between two parts once memory looks as if it leaked
  static constexpr size_t kRow = 4;                      // parts: delayed frees of a thread even out
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

// The current counts of this process.
size_t count_threads();
bool threads_come_down_to(size_t most);  // a joined thread stays visible for a moment
size_t count_descriptors();

}  // namespace conform
