// modules.hpp — the kernels of one GPU: compiled at run time or loaded as binaries, cached in memory and on disk.
//
// Owned by the device; [load] calls only, one at a time, with the context current. The address of a Code is stable until the
// device closes.
#pragma once
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../streams/kernel_cache.hpp"

namespace gpu {

template <class V>
class Device;

template <class V>
struct Code {
  typename V::Function function{};
  std::string name;
  bool knows_params = false;
  std::vector<uint64_t> params;  // sizes of the parameters
  uint64_t largest = 0;          // threads in a block; 0: unknown
  mutable std::atomic<uint32_t> allowed{48 << 10};  // shared memory enabled for launches; only grows, so relaxed

  // Chooses the block if the program does not: one thread per work item; the last blocks exceed the elements.
  void choose_block(uint64_t want[3], uint32_t block[3]) const noexcept {
    static constexpr uint32_t usual[3][3] = {{256, 1, 1}, {32, 8, 1}, {8, 8, 4}};
    const auto &b = usual[want[2] > 1 ? 2 : want[1] > 1 ? 1 : 0];
    for (int d = 0; d < 3; ++d) block[d] = b[d];
    while (largest && uint64_t{block[0]} * block[1] * block[2] > largest) *std::max_element(block, block + 3) /= 2;
    for (int d = 0; d < 3; ++d) want[d] = want[d] / block[d] + (want[d] % block[d] != 0);
  }
  int allow_shared(const V &api, uint32_t bytes) const noexcept {
    if (bytes <= allowed.load(std::memory_order_relaxed)) return 0;
    const int e = api.allow_shared(function, bytes);
    if (!e) allowed.store(bytes, std::memory_order_relaxed);
    return e;
  }
};

template <class V>
class Modules {
 public:
  explicit Modules(Device<V> &d) : dev_(d) {}
  ~Modules() {
    for (auto &[key, m] : modules_) dev_.api.module_unload(m);
  }
  Modules(const Modules &) = delete;
  Modules &operator=(const Modules &) = delete;

  // Returns the same Code for the same kernel. < 0: text in `why`, with the compiler's output.
  consort_status load(std::string format, const void *text, uint64_t n, const std::string &entry, const Code<V> **out,
                      std::string *why) {
    std::string body(static_cast<const char *>(text), n), label = "the " + format + " text of the codelet";
    if (format == "file") {
      const std::string path = body;
      if (!streams::find_kernel(path, dev_.driver.settings.folders, V::kName, &body, &label, why)) return CONSORT_E_INVAL;
      format = V::format_of(path);
    }
    if (format != V::kSource && !V::is_image(format)) {
      *why = "format \"" + format + "\" is unknown; known are " + V::kFormats;
      return CONSORT_E_UNSUPPORTED;
    }
    const std::string key = format + "\n" + body;
    auto at = modules_.find(key);
    if (at == modules_.end()) {
      std::string image = format == V::kSource ? std::string() : body;
      if (image.empty())
        if (const consort_status s = image_of(body, label, &image, why); s < 0) return s;
      typename V::Module m{};
      std::string log;
      if (const int e = dev_.api.module_load(&m, image, &log)) {
        *why = label + " was refused: " + dev_.api.words(e) + (log.empty() ? "" : "\n" + log);
        const consort_status s = V::status_of(e);
        return s == CONSORT_E_NOMEM || s == CONSORT_E_DEVICE_LOST ? s : CONSORT_E_INVAL;
      }
      at = modules_.emplace(key, m).first;
    }
    return find(at->second, entry, label, out, why);
  }

 private:
  consort_status find(typename V::Module m, const std::string &entry, const std::string &label, const Code<V> **out,
                      std::string *why) {
    const V &api = dev_.api;
    std::string name = entry;
    const std::vector<std::string> names = api.functions(m);  // empty: not reported by the library
    if (name.empty() && names.size() == 1) name = names[0];
    const auto listed = [&] {
      std::string all;
      for (const std::string &s : names) all += (all.empty() ? "\"" : ", \"") + s + "\"";
      return all.empty() ? std::string() : ": its kernels are " + all;
    };
    if (name.empty()) {
      *why = label + " has several kernels: set entry to one" + listed();
      return CONSORT_E_INVAL;
    }
    auto &code = codes_[{m, name}];
    if (!code) {
      auto made = std::make_unique<Code<V>>();
      if (const int e = api.function(&made->function, m, name.c_str())) {
        codes_.erase({m, name});
        *why = label + " has no kernel \"" + name + "\" (" + api.words(e) + ")" + (listed().empty() ? ": declare it extern \"C\"" : listed());
        return CONSORT_E_INVAL;
      }
      made->name = name;
      made->knows_params = api.parameters(made->function, &made->params);
      made->largest = api.largest_block(made->function);
      code = std::move(made);
    }
    *out = code.get();
    return CONSORT_OK;
  }

  // Compiles source. A program with include directives is not cached on disk, because included files may change.
  consort_status image_of(const std::string &source, const std::string &label, std::string *image, std::string *why) {
    auto &driver = dev_.driver;
    if (const consort_status s = driver.compiler.open(driver.settings.compiler, why); s < 0) return s;
    const std::string arch = dev_.api.arch(dev_.number);
    std::string file;
    const std::string key = driver.compiler.version() + "\n" + arch + "\n" + driver.settings.options + "\n" + source;
    if (!driver.settings.cache.empty() && source.find("#include") == std::string::npos)
      file = driver.settings.cache + "/" + streams::hex(key) + ".bin";
    if (!file.empty() && streams::read_cached(file, key, image)) return CONSORT_OK;
    std::string options = driver.settings.options;
    if (const size_t slash = label.rfind('/'); slash != std::string::npos) options += " -I" + label.substr(0, slash);
    std::string log;
    if (const consort_status s = driver.compiler.compile(source, options, arch, image, &log); s < 0) {
      *why = label + " does not compile" + (options.empty() ? "" : " (options \"" + options + "\")") +
             (log.empty() ? ", without compiler output" : ":\n" + log);
      return s;
    }
    if (!file.empty() && !streams::write_cached(file, key, *image))
      driver.host->log(driver.host, 3, (std::string(V::kName) + ": " + file + " cannot be written: kernels are compiled at every start").c_str());
    return CONSORT_OK;
  }

  Device<V> &dev_;
  std::map<std::string, typename V::Module> modules_;
  std::map<std::pair<typename V::Module, std::string>, std::unique_ptr<Code<V>>> codes_;
};

}  // namespace gpu
