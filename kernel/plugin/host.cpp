#include "plugin/host.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include <consort/shared/printable.hpp>

#include "base/clock.hpp"
#include "base/last_error.hpp"

namespace consort {
namespace {

constexpr const char *kLevels[] = {"error", "warn", "info", "debug"};

void host_log(const consort_host *h, int32_t level, const char *utf8) {
  const Host &host = Host::of(h);
  if (level < kLogError) level = kLogError;
  if (!utf8 || !host.log.wants(level)) return;
  char safe[2048];
  if (!shared::is_printable(utf8)) {  // a plugin's text is one line
    safe[shared::make_printable(utf8, safe, sizeof safe - 1)] = 0;
    utf8 = safe;
  }
  try {
    const std::string name = host.plugin + ": ";   // added once, also where the plugin begins with it
    host.log.write(level, std::string_view(utf8).starts_with(name) ? utf8 : (name + utf8).c_str());
  } catch (...) {  // no memory for the name: log the text alone
    host.log.write(level, utf8);
  }
}

consort_status host_fail(const consort_host *, consort_status code, const char *utf8) {
  if (!utf8 || shared::is_printable(utf8)) return set_error(code, utf8 ? utf8 : "");
  char safe[2048];
  return set_error(code, {safe, shared::make_printable(utf8, safe, sizeof safe)});
}

const void *host_get(const consort_host *h, const char *id) {
  const Host &host = Host::of(h);
  if (id && std::strcmp(id, CONSORT_START_ID) == 0) return &host.start;
  return id && host.hooks.get ? host.hooks.get(host.hooks.user, host.manifest, id) : nullptr;
}

const char *host_param(const consort_host *h, const char *key) {
  const Host &host = Host::of(h);
  return key && host.config ? host.config->param(host.plugin, key) : nullptr;
}

void *host_alloc(const consort_host *, size_t bytes, size_t align) {
  if (align < sizeof(void *)) align = sizeof(void *);
  if (!std::has_single_bit(align)) return nullptr;
  void *p = nullptr;
  return posix_memalign(&p, align, bytes ? bytes : 1) == 0 ? p : nullptr;
}

void host_release(const consort_host *, void *p) { std::free(p); }

uint64_t host_now(const consort_host *h) {
  const HostHooks &hooks = hooks_of(h);
  return hooks.now ? hooks.now(hooks.user) : Clock(false, 0).now();
}

void host_complete(const consort_host *h, uint64_t token, const consort_done *done, uint32_t n) {
  const HostHooks &hooks = hooks_of(h);
  if (hooks.complete) hooks.complete(hooks.user, token, done, n);
  else if (n) host_log(h, kLogError, "completions pushed to a host that has no queues: dropped");
}

void host_event(const consort_host *h, uint32_t what, uint64_t object, int64_t detail) {
  const HostHooks &hooks = hooks_of(h);
  if (hooks.event) hooks.event(hooks.user, what, object, detail);
  else host_log(h, kLogWarn, "an event reported to a host that handles none: dropped");
}

}  // namespace

int32_t log_level(std::string_view name) noexcept {
  for (int32_t l = kLogError; l <= kLogDebug; ++l)
    if (name == kLevels[l]) return l;
  return kLogWarn;
}

void Log::write(int32_t l, const char *utf8) const noexcept {
  if (!wants(l)) return;
  // Newlines are kept: texts of the kernel may have several lines. Texts of plugins were escaped before (host_log).
  char safe[2048];
  if (!shared::is_printable(utf8, shared::Newlines::kKeep)) {
    safe[shared::make_printable(utf8, safe, sizeof safe - 1, shared::Newlines::kKeep)] = 0;
    utf8 = safe;
  }
  if (sink) return sink(user, l, utf8);
  char line[1024];  // one write, so that lines of several threads do not mix
  const int n = std::snprintf(line, sizeof line - 1, "consort %s: %s",
                              kLevels[l < kLogError   ? kLogError
                                      : l > kLogDebug ? kLogDebug
                                                      : l],
                              utf8);
  if (n < 0) return;
  size_t bytes = std::min<size_t>(static_cast<size_t>(n), sizeof line - 2);
  line[bytes++] = '\n';
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, bytes);
}

std::string Host::place_of(consort_status status, std::string_view words) const {
  const std::string place = config ? config->place_named(plugin, words, status == CONSORT_E_INVAL) : std::string();
  return place.empty() ? place : place + ": ";
}

Host::Host(const HostHooks &h, const Log &l, std::shared_ptr<const Config> c, std::string name)
    : hooks(h), log(l), config(std::move(c)), plugin(std::move(name)) {
  table_ = {sizeof(consort_host), CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR, this, host_log, host_fail, host_get,
            host_param, host_alloc, host_release, host_now, host_complete, host_event};
}

}  // namespace consort
