#include "host.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>

namespace conform {

namespace {

constexpr unsigned char kGuard = 0xA5;
constexpr size_t kGuardBytes = 64, kMostKept = 4096;

thread_local bool ours = false;
struct Where {
  Tag tag = Tag::kControl;
  const char *function = "";
};
thread_local Where where;

uint64_t steady_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

}  // namespace

const char *tag_name(Tag tag) {
  constexpr const char *names[] = {"control", "worker", "queue", "any", "pure", "load"};
  return names[static_cast<int>(tag)];
}

void Inside::this_is_ours() { ours = true; }
bool Inside::is_ours() { return ours; }
thread_local void (*Inside::watch)(bool);
Inside::Inside(Tag tag, const char *function) : tag_(where.tag), function_(where.function) {
  where = {tag, function};
  ours = true;
  if (watch) watch(true);
}
Inside::~Inside() {
  if (watch) watch(false);
  where = {tag_, function_};
}
Tag Inside::tag() { return where.tag; }
const char *Inside::function() { return where.function; }

Host::Host() {
  Inside::this_is_ours();
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void *p = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(static_cast<char *>(p) + page, page, PROT_NONE) != 0)
    throw std::system_error(errno, std::generic_category(), "no memory for a host");
  pages_ = static_cast<char *>(p);
  set_size(sizeof(consort_host));
}

Host::~Host() {
  for (auto &[p, block] : blocks_) std::free(block.begin);
  munmap(pages_, 2 * static_cast<size_t>(sysconf(_SC_PAGESIZE)));
}

void Host::set_size(uint32_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const consort_host whole = {bytes,    CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR, this,   on_log,      on_fail, on_get,
                              on_param, on_alloc,           on_release,         on_now, on_complete, on_event};
  std::memset(pages_, 0x5A, page);       // fields beyond this version's are not NULL
  char *at = pages_ + page - (bytes + 7) / 8 * 8;
  std::memcpy(at, &whole, bytes < sizeof whole ? bytes : sizeof whole);
  table_ = reinterpret_cast<consort_host *>(at);
}

void Host::set_version(uint16_t major, uint16_t minor) { table_->major = major, table_->minor = minor; }

Host &Host::of(const consort_host *h) { return *static_cast<Host *>(h->ctx); }

void Host::declare(const consort_param *params, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i)
    if (params[i].key && params[i].dflt) defaults_[params[i].key] = params[i].dflt;
}

uint64_t Host::now() const { return virtual_ ? clock_.load() : steady_ns(); }

void Host::complain(std::string what) {
  if (complaints_.size() < 16) complaints_.push_back(std::move(what));
}

// -- the table ------------------------------------------------------------------------------------------------------

void Host::on_log(const consort_host *h, int32_t level, const char *text) {
  Host &host = of(h);
  const std::lock_guard lock(host.mutex_);
  if (!text) return host.complain("log() was given NULL for a text");
  if (host.log_.size() < 64 * kMostKept) host.log_ += std::to_string(level) + ": " + text + "\n";
}

consort_status Host::on_fail(const consort_host *h, consort_status code, const char *text) {
  Host &host = of(h);
  const std::lock_guard lock(host.mutex_);
  host.failure_ = text ? text : "";
  host.failure_code_ = code;
  return code;
}

const void *Host::on_get(const consort_host *h, const char *id) {
  Host &host = of(h);
  const bool fails = host.fails_now();
  const std::lock_guard lock(host.mutex_);
  if (!Inside::is_ours()) host.complain("get() is [control], and was called by a thread of the plugin's own");
  else if (!Inside::may_block())
    host.complain(std::string("get() is [control], and was called from ") + Inside::function() + ", which is [" +
                  tag_name(Inside::tag()) + "]");
  if (!id) return host.complain("get() was given NULL for an id"), nullptr;
  ++host.asked_;                                 // counted, not kept: the memory would be taken for the plugin's
  const auto found = host.services_.find(id);
  return fails || found == host.services_.end() ? nullptr : found->second;
}

const char *Host::on_param(const consort_host *h, const char *key) {
  Host &host = of(h);
  const bool fails = host.fails_now();
  const std::lock_guard lock(host.mutex_);
  if (!Inside::is_ours()) host.complain("param() is [control], and was called by a thread of the plugin's own");
  else if (!Inside::may_block())
    host.complain(std::string("param() is [control], and was called from ") + Inside::function() + ", which is [" +
                  tag_name(Inside::tag()) + "]");
  if (!key) return host.complain("param() was given NULL for a key"), nullptr;
  if (fails) return nullptr;
  if (const auto set = host.params_.find(key); set != host.params_.end()) return set->second.c_str();
  const auto found = host.defaults_.find(key);
  return found == host.defaults_.end() ? nullptr : found->second.c_str();
}

void *Host::on_alloc(const consort_host *h, size_t bytes, size_t align) {
  Host &host = of(h);
  if (host.fails_now()) return nullptr;
  if (align < alignof(std::max_align_t)) align = alignof(std::max_align_t);
  if (align & (align - 1)) return nullptr;
  const size_t front = align < kGuardBytes ? kGuardBytes : align;
  void *p = nullptr;
  if (bytes > SIZE_MAX / 2 || posix_memalign(&p, align, front + bytes + kGuardBytes) != 0) return nullptr;
  char *begin = static_cast<char *>(p);
  std::memset(begin, kGuard, front);
  std::memset(begin + front, 0xCD, bytes);  // uninitialised contents
  std::memset(begin + front + bytes, kGuard, kGuardBytes);
  const std::lock_guard lock(host.mutex_);
  host.blocks_[begin + front] = {begin, front, bytes};
  return begin + front;
}

static bool guards_hold(const char *begin, size_t front, size_t bytes) {
  const auto is_guard = [](const char *p, size_t n) {
    for (size_t i = 0; i < n; ++i)
      if (static_cast<unsigned char>(p[i]) != kGuard) return false;
    return true;
  };
  return is_guard(begin, front) && is_guard(begin + front + bytes, kGuardBytes);
}

void Host::on_release(const consort_host *h, void *p) {
  Host &host = of(h);
  if (!p) return;
  const std::lock_guard lock(host.mutex_);
  const auto found = host.blocks_.find(p);
  if (found == host.blocks_.end()) return host.complain("release() of memory that alloc() did not give, or twice");
  const Block b = found->second;
  if (!guards_hold(b.begin, b.front, b.bytes))
    host.complain("a block of alloc(" + std::to_string(b.bytes) + ") was written beyond its bounds");
  host.blocks_.erase(found);
  std::free(b.begin);
}

uint64_t Host::on_now(const consort_host *h) { return of(h).now(); }

void Host::on_complete(const consort_host *h, uint64_t token, const consort_done *done, uint32_t n) {
  Host &host = of(h);
  const std::lock_guard lock(host.mutex_);
  for (uint32_t i = 0; i < n; ++i) host.completions_.push_back({token, done[i]});
}

void Host::on_event(const consort_host *h, uint32_t what, uint64_t object, int64_t detail) {
  Host &host = of(h);
  const std::lock_guard lock(host.mutex_);
  if (host.events_.size() < 64 * kMostKept) host.events_.push_back({what, object, detail});
}

// -- recorded calls ---------------------------------------------------------------------------------------------------

std::string Host::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

consort_status Host::failure_code() const {
  const std::lock_guard lock(mutex_);
  return failure_code_;
}

void Host::forget_failure() {
  const std::lock_guard lock(mutex_);
  failure_.clear();
  failure_code_ = CONSORT_OK;
}

std::string Host::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

std::vector<Host::Event> Host::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

std::vector<Host::Completion> Host::completions() const {
  const std::lock_guard lock(mutex_);
  return completions_;
}

size_t Host::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

size_t Host::live_blocks() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size();
}

std::vector<std::string> Host::complaints() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all = complaints_;
  for (const auto &[p, b] : blocks_)
    if (!guards_hold(b.begin, b.front, b.bytes))
      all.push_back("a block of alloc(" + std::to_string(b.bytes) + ") was written beyond its bounds");
  return all;
}

}  // namespace conform
