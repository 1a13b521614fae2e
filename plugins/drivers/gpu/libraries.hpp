// libraries.hpp — vendor libraries for functions of codelets, and their handles, kept by each unit's queue
// (consort/handles.h).
//
// A driver opens a library at its first use and never closes it, because it may have threads of its own. A lane's handles are created
// and used on the thread that runs the function, and destroyed with the lane before its stream.
#pragma once
#include <consort/handles.h>
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "device.hpp"
#include "known_library.hpp"

namespace gpu {

// One per driver; any thread, after the settings are read.
template <class V>
class Libraries {
 public:
  void read(const Driver<V> &driver) {  // [control]: reads the settings ahead, because functions of codelets may not
    for (const KnownLibrary &k : V::kLibraries) wanted_[k.name] = driver.text(k.name);
  }
  // E_INVAL: no such name; E_UNSUPPORTED: not installed, or too old. `why`: text.
  consort_status open(const Driver<V> &driver, const std::string &name, const OpenLibrary **out, std::string *why) {
    const std::lock_guard lock(mutex_);
    if (const auto at = open_.find(name); at != open_.end()) return *out = at->second.get(), CONSORT_OK;
    const KnownLibrary *known = nullptr;
    std::string all;
    for (const KnownLibrary &k : V::kLibraries) {
      if (name == k.name) known = &k;
      all += (all.empty() ? "\"" : ", \"") + std::string(k.name) + "\"";
    }
    if (!known) return *why = "library \"" + name + "\" is unknown; known are " + all, CONSORT_E_INVAL;
    auto made = std::make_unique<OpenLibrary>();
    made->known = known;
    const std::string setting = std::string(V::kName) + "." + known->name, &wanted = wanted_[name];
    std::string said;
    const auto take = [&](const char *file, bool there) {
      made->file = file;
      made->object = driver.api.open_beside(file, there);
      if (!made->object && !there)
        if (const char *d = dlerror()) said += (said.empty() ? "" : "; ") + std::string(d);
      return made->object != nullptr;
    };
    bool found = false;
    if (wanted != "auto") found = take(wanted.c_str(), false);
    for (const bool there : {true, false})  // an already loaded one first
      for (const char *const *f = known->files; wanted == "auto" && !found && *f; ++f) found = take(*f, there);
    if (!found) {
      *why = "library \"" + name + "\" cannot be opened: " + known->remedy + ", or set its path in " + setting + " (" + said + ")";
      return CONSORT_E_UNSUPPORTED;
    }
    const auto function = [&](const char *f, auto *to) {
      *to = reinterpret_cast<std::remove_reference_t<decltype(*to)>>(dlsym(made->object, f));
      if (!*to) *why = "library \"" + name + "\": " + made->file + " lacks " + f + ": set another in " + setting;
      return *to != nullptr;
    };
    if (!function(known->create, &made->create) || !function(known->set_stream, &made->set_stream) ||
        !function(known->destroy, &made->destroy))
      return CONSORT_E_UNSUPPORTED;
    made->words = reinterpret_cast<const char *(*)(int)>(dlsym(made->object, known->words));
    driver.host->log(driver.host, 2, (std::string(V::kName) + ": library \"" + name + "\" is " + made->file).c_str());
    *out = open_.emplace(name, std::move(made)).first->second.get();
    return CONSORT_OK;
  }

 private:
  std::map<std::string, std::string> wanted_;  // paths from the settings
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<OpenLibrary>> open_;
};

// One per lane: used by one thread at a time, with the lane's context current.
class Handles {
 public:
  consort_status take(const OpenLibrary &library, void *stream, void **out, std::string *why) {
    if (const auto at = made_.find(&library); at != made_.end()) return *out = at->second, CONSORT_OK;
    const auto at = made_.emplace(&library, nullptr).first;  // inserted first: storing the new handle cannot fail
    void *handle = nullptr;
    int e = library.create(&handle);
    const char *asked = library.known->create;
    if (!e) {
      e = library.set_stream(handle, stream);
      asked = library.known->set_stream;
      if (e) (void)library.destroy(handle);
    }
    if (e) {
      made_.erase(at);
      *why = library.failure(asked, e);
      return library.status_of(e);
    }
    *out = at->second = handle;
    return CONSORT_OK;
  }
  void destroy() noexcept {
    for (const auto &[library, handle] : made_) (void)library->destroy(handle);
    made_.clear();
  }

 private:
  std::map<const OpenLibrary *, void *> made_;
};

// The extension's functions.
template <class V>
struct HandlesTable {
  static Device<V> &device(void *dev) noexcept { return *static_cast<Device<V> *>(dev); }

  // Calls f with the library and the lane that runs the call.
  template <class F>
  static consort_status with(void *dev, const consort_call *call, const char *library, F body) noexcept try {
    Device<V> &d = device(dev);
    Lane<V> *lane = d.lane_of(call->native_queue);
    if (!lane)
      return d.fail(CONSORT_E_INVAL, std::string("library \"") + library + "\": the call does not run on a queue of this device: use it inside the function, with its own call argument");
    const OpenLibrary *open = nullptr;
    std::string why;
    consort_status s = d.driver.libraries.open(d.driver, library, &open, &why);
    if (s >= 0) s = body(*lane, *open, &why);
    return s < 0 ? d.fail(s, why) : s;
  } catch (const std::bad_alloc &) {
    return device(dev).fail(CONSORT_E_NOMEM, "out of memory for a library");
  }

  static consort_status handle(void *dev, const consort_call *call, const char *library, void **out) noexcept {
    return with(dev, call, library, [&](Lane<V> &lane, const OpenLibrary &l, std::string *why) { return lane.handle(l, out, why); });
  }
  static consort_status symbol(void *dev, const consort_call *call, const char *library, const char *name, void **out) noexcept {
    return with(dev, call, library, [&](Lane<V> &, const OpenLibrary &l, std::string *why) -> consort_status {
      if ((*out = dlsym(l.object, name))) return CONSORT_OK;
      *why = "library \"" + std::string(library) + "\": " + l.file + " has no " + name + ": check its spelling, or install a newer version";
      return CONSORT_E_UNSUPPORTED;
    });
  }
  static consort_status check(void *dev, const consort_call *call, const char *library, const char *function, int32_t code) noexcept {
    if (!code) return CONSORT_OK;
    return with(dev, call, library, [&](Lane<V> &, const OpenLibrary &l, std::string *why) {
      const consort_status s = l.status_of(code);
      if (s < 0) *why = l.failure(function, code);
      return s;
    });
  }
  static constexpr consort_handles table = {sizeof(consort_handles), 0, handle, symbol, check};
  static const void *get(const char *id) noexcept { return std::strcmp(id, CONSORT_HANDLES_ID) == 0 ? &table : nullptr; }
};

}  // namespace gpu
