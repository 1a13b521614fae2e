// plugin_host.hpp — the smallest host that a plugin can live in: tests drive a plugin's tables directly, no kernel.
//
// One PluginHost loads one plugin and owns its `self`; a test calls the table. Texts of log() and fail() are kept, and
// param() is answered from a map. The clock is a number that the test sets, or the real one. Any thread may call into
// the host table.
#pragma once
#include <consort/plugin.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace consort_test {

class PluginHost {
 public:
  using Params = std::map<std::string, std::string>;
  struct Event { uint32_t what; uint64_t object; int64_t detail; };

  // name: of a plugin in `folder`. Not started: false, and why in failure().
  explicit PluginHost(const std::string &name, Params params = {}, const std::string &folder = CONSORT_PLUGIN_DIR)
      : params_(std::move(params)) {
    events_.reserve(16);
    host_.size = sizeof host_;
    host_.major = CONSORT_HOST_MAJOR;
    host_.minor = CONSORT_HOST_MINOR;
    host_.ctx = this;
    host_.log = [](const consort_host *h, int32_t level, const char *text) { self(h).logged(level, text); };
    host_.fail = [](const consort_host *h, consort_status code, const char *text) {
      return self(h).failed(code, text);
    };
    host_.get = [](const consort_host *h, const char *) { return self(h).services_; };
    host_.param = [](const consort_host *h, const char *key) { return self(h).param(key); };
    host_.alloc = [](const consort_host *, size_t bytes, size_t align) -> void * {
      void *p = nullptr;
      return posix_memalign(&p, align < sizeof p ? sizeof p : align, bytes) == 0 ? p : nullptr;
    };
    host_.release = [](const consort_host *, void *p) { std::free(p); };
    host_.now = [](const consort_host *h) { return self(h).now(); };
    host_.complete = [](const consort_host *, uint64_t, const consort_done *, uint32_t) {};
    host_.event = [](const consort_host *h, uint32_t what, uint64_t object, int64_t detail) noexcept {
      std::lock_guard lock(self(h).mutex_);
      self(h).events_.push_back({what, object, detail});
    };
    const std::string path = folder + "/" + name + ".so";
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library_) {
      failure_ = dlerror();
      return;
    }
    auto *entry = reinterpret_cast<consort_entry_fn *>(dlsym(library_, "consort_plugin_entry"));
    const consort_module *module = entry ? entry(&host_) : nullptr;
    if (!module || module->nplugins != 1) {
      if (failure_.empty()) failure_ = path + " has no entry, or not one plugin";
      return;
    }
    plugin_ = module->plugins[0];
    status_ = plugin_->init ? plugin_->init(&host_, &self_) : CONSORT_OK;
    ready_ = status_ >= 0;
  }
  PluginHost(const PluginHost &) = delete;
  PluginHost &operator=(const PluginHost &) = delete;
  ~PluginHost() {
    if (ready_ && plugin_->fini) plugin_->fini(self_);
    // As the kernel has it: code that does not say so was never tried, and threads of a vendor may be in it still.
    if (library_ && plugin_ && (plugin_->flags & CONSORT_PF_UNLOADABLE)) dlclose(library_);
  }

  bool ready() const { return ready_; }
  const consort_plugin *plugin() const { return plugin_; }
  template <class Ops>
  const Ops *ops() const { return static_cast<const Ops *>(plugin_->ops); }
  void *self() const { return self_; }
  const consort_host *host() const { return &host_; }

  std::string failure() const {
    std::lock_guard lock(mutex_);
    return failure_;
  }
  std::string log() const {
    std::lock_guard lock(mutex_);
    return log_;
  }
  // Once there is one, or after 5 s: a helper thread of a driver tells a moment later than its queue.
  std::vector<Event> awaited_events() const {
    for (int i = 0; i < 5000 && events().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return events();
  }
  std::vector<Event> events() const {
    std::lock_guard lock(mutex_);
    return events_;
  }
  // From here on get() answers this table; its functions find their owner by served() of host->ctx.
  void serve(void *owner, const void *table) { owner_ = owner, services_ = table; }
  void *served() const { return owner_; }
  void set_clock(uint64_t ns) { clock_ = ns; }

 private:
  static PluginHost &self(const consort_host *h) { return *static_cast<PluginHost *>(h->ctx); }
  // Without memory a host forgets; it does not throw through a plugin.
  void logged(int32_t level, const char *text) try {
    std::lock_guard lock(mutex_);
    log_ += std::to_string(level) + ": " + text + "\n";
  } catch (const std::bad_alloc &) {
  }
  consort_status failed(consort_status code, const char *text) try {
    std::lock_guard lock(mutex_);
    failure_ = text;
    return code;
  } catch (const std::bad_alloc &) {
    return code;
  }
  const char *param(const char *key) const {  // unset parameters have their declared default, as in the kernel
    if (const auto it = params_.find(key); it != params_.end()) return it->second.c_str();
    for (uint32_t i = 0; plugin_ && i < plugin_->nparams; ++i)
      if (std::string(plugin_->params[i].key) == key) return plugin_->params[i].dflt;
    return nullptr;
  }
  uint64_t now() const {
    if (const uint64_t fixed = clock_) return fixed;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  Params params_;
  consort_host host_{};
  void *library_ = nullptr, *self_ = nullptr, *owner_ = nullptr;
  const void *services_ = nullptr;
  const consort_plugin *plugin_ = nullptr;
  consort_status status_ = CONSORT_OK;
  bool ready_ = false;
  std::atomic<uint64_t> clock_{0};  // 0: the real one
  mutable std::mutex mutex_;
  std::string failure_, log_;
  std::vector<Event> events_;  // with room for some: no plugin expects this to fail
};

}  // namespace consort_test
