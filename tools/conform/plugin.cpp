#include "plugin.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>

namespace conform {

Library::Library(const std::string &path) {
  const std::string place = path.find('/') == path.npos ? "./" + path : path;  // else the linker searches its own folders
  handle_ = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    const char *why = dlerror();
    error_ = why ? why : "no reason given";
    return;
  }
  entry_ = reinterpret_cast<consort_entry_fn *>(dlsym(handle_, "consort_plugin_entry"));
  if (!entry_) error_ = path + " has no consort_plugin_entry: write CONSORT_MODULE(...) once, at file scope";
}

Library::~Library() = default;

bool Library::unload() {
  if (!handle_ || dlclose(handle_) != 0) return false;
  handle_ = nullptr;
  entry_ = nullptr;
  return true;
}

const consort_plugin *find_plugin(const consort_module *module, const std::string &name) {
  if (!module || !CONSORT_HAS(module, consort_module, plugins) || !module->plugins) return nullptr;
  for (uint32_t i = 0; i < module->nplugins; ++i) {
    const consort_plugin *p = module->plugins[i];
    if (p && p->name && name == p->name) return p;
  }
  return nullptr;
}

consort_plugin copy_manifest(const consort_plugin *theirs) {
  consort_plugin mine = {};
  std::memcpy(static_cast<void *>(&mine), theirs, std::min<size_t>(theirs->size, sizeof mine));
  if (!mine.init)
    mine.init = [](const consort_host *, void **self) -> consort_status { return *self = nullptr, CONSORT_OK; };
  if (!mine.quiesce) mine.quiesce = [](void *, uint64_t) -> consort_status { return CONSORT_OK; };
  if (!mine.fini) mine.fini = [](void *) {};
  if (!mine.get) mine.get = [](void *, const char *) -> const void * { return nullptr; };
  return mine;
}

Plugin::Plugin(Trial &t, bool started)
    : t_(t), own_(new Host), host_(*own_), library_(t.subject().path) {
  load();
  if (started) must_start();
}

Plugin::Plugin(Trial &t, Host &host, bool started) : t_(t), host_(host), library_(t.subject().path) {
  load();
  if (started) must_start();
}

Plugin::~Plugin() {
  if (running_) stop();
}

void Plugin::load() {
  t_.need(library_.error().empty(), "cannot be loaded: %s", library_.error().c_str());
  for (const auto &[key, value] : t_.subject().params) host_.set_param(key, value);
  t_.doing("the entry");
  const consort_module *module = library_.entry()(host_.table());
  t_.need(module, "the entry refuses a host of its own version: %s", host_.failure().c_str());
  theirs_ = find_plugin(module, t_.subject().name());
  t_.need(theirs_, "the entry names no plugin \"%s\", which the note announces", t_.subject().name().c_str());
  t_.need(CONSORT_HAS(theirs_, consort_plugin, ops) && theirs_->ops, "the plugin's table has no ops");
  manifest_ = copy_manifest(theirs_);
  host_.declare(manifest_.params, manifest_.params ? manifest_.nparams : 0);
}

void Plugin::must_start() {
  const consort_status s = start();
  if (s == CONSORT_E_UNSUPPORTED) t_.skip("does not start here: %s", host_.failure().c_str());
  t_.need(s >= 0, "init failed: %s", host_.failure().c_str());
}

consort_status Plugin::start(bool said) {
  if (!said) t_.doing("init");
  Inside::this_is_ours();
  self_ = nullptr;
  const consort_status s = manifest_.init(host_.table(), &self_);
  running_ = s >= 0;
  return s;
}

void Plugin::stop() {
  Inside::this_is_ours();
  t_.doing("quiesce");
  manifest_.quiesce(self_, host_.now() + 1'000'000'000);
  t_.doing("fini");
  manifest_.fini(self_);
  running_ = false;
}

// The size of all mappings of this process.
static size_t mapped_bytes() {
  unsigned long pages = 0;
  if (FILE *f = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(f, "%lu", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

static double seconds_on(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

MemoryMarks::MemoryMarks(size_t bytes, uint32_t rounds, double seconds)
    : bytes_(bytes), rounds_(rounds), seconds_(seconds), began_(seconds_on(CLOCK_MONOTONIC)),
      computed_before_(seconds_on(CLOCK_PROCESS_CPUTIME_ID)) {}

bool MemoryMarks::has_time() const {
  return seconds_on(CLOCK_PROCESS_CPUTIME_ID) - computed_before_ < seconds_ && seconds_on(CLOCK_MONOTONIC) - began_ < 10 * seconds_;
}

void MemoryMarks::mark() {
  const auto info = mallinfo2();
  heap_.reserve(kMost + 2), mapped_.reserve(kMost + 2);  // reserved, so that measuring does not change the result
  heap_.push_back(CONSORT_SAN ? 0 : info.uordblks + info.hblkhd);  // large blocks have mappings of their own
  mapped_.push_back(CONSORT_SAN ? 0 : mapped_bytes());
  if (heap_.size() > kLeast && grew()) usleep(kNap);  // a thread of the plugin may free later, and wait for a core
}

static size_t count_entries(const char *folder) {
  DIR *d = opendir(folder);
  if (!d) return 0;
  size_t n = 0;
  while (readdir(d)) ++n;
  closedir(d);
  return n;
}

size_t count_threads() { return count_entries("/proc/self/task") - 2; }

bool threads_come_down_to(size_t most) {
  for (int turn = 0; turn < 2000; ++turn, usleep(1000))
    if (count_threads() <= most) return true;
  return false;
}
size_t count_descriptors() { return count_entries("/proc/self/fd") - 3; }  // the folder itself is open, too

}  // namespace conform
