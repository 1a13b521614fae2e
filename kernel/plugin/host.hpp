// host.hpp — the service table that a plugin receives; one for each live plugin of a runtime.
//
// Owned by the Registry; its address is stable while the plugin lives. [any] thread may call through the table. The
// runtime answers most calls by hooks; log, fail, param, alloc and release are answered here. No exception leaves it,
// and it never calls a plugin.
#pragma once
#include <consort/plugin.h>
#include <consort/start.h>

#include <memory>
#include <string>

#include "plugin/config.hpp"

namespace consort {

struct Plugin;

// Filled by the runtime. A NULL hook has a default: no service, real time, an error in the log.
struct HostHooks {
  void *user = nullptr;
  const void *(*get)(void *user, const consort_plugin *, const char *id) = nullptr;                 // [control]
  uint64_t (*now)(void *user) = nullptr;                                                            // [any]
  void (*complete)(void *user, uint64_t token, const consort_done *, uint32_t n) = nullptr;         // [any]
  void (*event)(void *user, uint32_t what, uint64_t object, int64_t detail) = nullptr;              // [any]
};

using LogFn = void (*)(void *user, int32_t level, const char *utf8);

enum : int32_t { kLogError, kLogWarn, kLogInfo, kLogDebug };

// Destination of log lines, and their least level. [any] thread, also the sink. NULL: stderr, one write a line.
struct Log {
  LogFn sink = nullptr;
  void *user = nullptr;
  int32_t level = kLogWarn;

  bool wants(int32_t l) const noexcept { return l <= level; }
  void write(int32_t l, const char *utf8) const noexcept;
  void write(int32_t l, const std::string &utf8) const noexcept { write(l, utf8.c_str()); }
};
int32_t log_level(std::string_view name) noexcept;  // "error" … "debug"; unknown names: warn

class Host {
 public:
  Host(const HostHooks &, const Log &, std::shared_ptr<const Config>, std::string plugin);
  Host(const Host &) = delete;
  Host &operator=(const Host &) = delete;

  const consort_host *table() const noexcept { return &table_; }
  static Host &of(const consort_host *h) noexcept { return *static_cast<Host *>(h->ctx); }
  // Returns "file x.toml:3: " if the plugin's error text names a setting that was given for it; else "".
  std::string place_of(consort_status, std::string_view words) const;

  const HostHooks hooks;
  const Log log;
  const std::shared_ptr<const Config> config;  // NULL while a module is only asked for its manifest
  const std::string plugin;                    // its name, or its file's until the name is known
  const consort_plugin *manifest = nullptr;    // set once, before init()
  Plugin *owner = nullptr;                     // the live plugin; set once, before init()
  consort_start_mode start{sizeof(consort_start_mode), 0};  // likewise

 private:
  consort_host table_;
};

// For the runtime's service tables, whose functions receive the consort_host.
inline const HostHooks &hooks_of(const consort_host *h) noexcept { return Host::of(h).hooks; }
inline void *host_user(const consort_host *h) noexcept { return Host::of(h).hooks.user; }
inline Plugin *host_plugin(const consort_host *h) noexcept { return Host::of(h).owner; }

}  // namespace consort
