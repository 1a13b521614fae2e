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

// Bytes of the heap in use, marked now and then. What a leak adds it adds between any two marks; what the allocator keeps
// for later it does not. With a sanitizer, which has a heap of its own and finds leaks by itself, always 0.
class HeapMarks {
 public:
  void mark();
  size_t least_growth() const;                           // between two marks, one after the other

 private:
  std::vector<size_t> bytes_;
};

// What this process has now.
size_t count_threads();
bool threads_come_down_to(size_t most);  // one that was joined is seen for a moment longer
size_t count_descriptors();

}  // namespace conform
