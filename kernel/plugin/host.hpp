// host.hpp — the service table that a plugin receives: one per live plugin of a runtime.
//
// Owned by the Registry, address stable while the plugin lives; [any] thread may call through the table. Most
// answers come from the runtime by its hooks; log, fail, param, alloc and release are answered here. It never
// lets an exception out, and never calls a plugin.
#pragma once
#include <consort/plugin.h>

#include <memory>
#include <string>

#include "plugin/config.hpp"

namespace consort {

struct Plugin;

// Filled by the runtime; what is NULL gets a plain answer: no service, real time, an error in the log.
struct HostHooks {
  void *user = nullptr;
  const void *(*get)(void *user, const consort_plugin *, const char *id) = nullptr;                 // [control]
  uint64_t (*now)(void *user) = nullptr;                                                            // [any]
  void (*complete)(void *user, uint64_t token, const consort_done *, uint32_t n) = nullptr;         // [any]
  void (*event)(void *user, uint32_t what, uint64_t object, int64_t detail) = nullptr;              // [any]
};

using LogFn = void (*)(void *user, int32_t level, const char *utf8);

enum : int32_t { kLogError, kLogWarn, kLogInfo, kLogDebug };

// Where lines go, and down to which level. [any] thread; the sink is [any] too. NULL: stderr, one write a line.
struct Log {
  LogFn sink = nullptr;
  void *user = nullptr;
  int32_t level = kLogWarn;

  bool wants(int32_t l) const noexcept { return l <= level; }
  void write(int32_t l, const char *utf8) const noexcept;
  void write(int32_t l, const std::string &utf8) const noexcept { write(l, utf8.c_str()); }
};
int32_t log_level(std::string_view name) noexcept;  // "error" … "debug"; anything else: warn

class Host {
 public:
  Host(const HostHooks &, const Log &, std::shared_ptr<const Config>, std::string plugin);
  Host(const Host &) = delete;
  Host &operator=(const Host &) = delete;

  const consort_host *table() const noexcept { return &table_; }
  static Host &of(const consort_host *h) noexcept { return *static_cast<Host *>(h->ctx); }
  // "file x.toml:3: ", where the plugin's words about its failure name a setting that was given for it; else "".
  std::string place_of(consort_status, std::string_view words) const;

  const HostHooks hooks;
  const Log log;
  const std::shared_ptr<const Config> config;  // NULL while a module is only asked for its manifest
  const std::string plugin;                    // its name, or its file's while that is not known
  const consort_plugin *manifest = nullptr;    // set once, before init()
  Plugin *owner = nullptr;                     // the live plugin; set once, before init()

 private:
  consort_host table_;
};

// For the runtime's own service tables, whose functions receive the consort_host.
inline const HostHooks &hooks_of(const consort_host *h) noexcept { return Host::of(h).hooks; }
inline void *host_user(const consort_host *h) noexcept { return Host::of(h).hooks.user; }
inline Plugin *host_plugin(const consort_host *h) noexcept { return Host::of(h).owner; }

}  // namespace consort
