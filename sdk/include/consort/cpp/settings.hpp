// consort/cpp/settings.hpp — Settings: what a Runtime is started with; and what its destructor stops.
//
// Part of consort.hpp; include that. A value; one thread at a time.
#ifndef CONSORT_CPP_SETTINGS_HPP
#define CONSORT_CPP_SETTINGS_HPP
#include <consort/cpp/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace consort::inline face {

// Settings over those of file and environment: Settings{}.file("site.toml").set("workers", 2).
class Settings {
 public:
  // One setting by its key: "workers", "lws.depth".
  Settings &set(std::string key, std::string value) {
    pairs_.push_back({std::move(key), std::move(value)});
    return *this;
  }
  Settings &set(std::string key, const char *value) { return set(std::move(key), std::string(value)); }
  template <class T>
    requires(std::is_arithmetic_v<T>)
  Settings &set(std::string key, T value) {
    if constexpr (std::is_same_v<T, bool>) return set(std::move(key), value ? "true" : "false");
    else return set(std::move(key), std::to_string(value));
  }
  // A file of TOML, in place of the one that $CONSORT_CONFIG names.
  Settings &file(std::string path) { return file_ = std::move(path), *this; }
  Settings &text(std::string toml) { return text_ = std::move(toml), *this; }  // TOML as text, over the file.
  // Where messages go, from any thread; level 0 error … 3 debug. Without: stderr.
  Settings &log(void (*fn)(void *user, int32_t level, const char *utf8), void *user = nullptr) {
    return log_ = fn, log_user_ = user, *this;
  }
  // The entries of plugins that are linked into the program (CONSORT_STATIC_PLUGIN).
  Settings &modules(std::span<consort_entry_fn *const> linked) {
    return modules_.assign(linked.begin(), linked.end()), *this;
  }
  // Asked about each plugin file before its code is loaded: nullptr takes it, a text says why it is refused.
  Settings &admit(const char *(*fn)(void *user, const char *path), void *user = nullptr) {
    return admit_ = fn, admit_user_ = user, *this;
  }

 private:
  friend class Runtime;
  struct Pair {
    std::string key, value;
  };
  std::vector<Pair> pairs_;
  std::string file_, text_;
  void (*log_)(void *, int32_t, const char *) = nullptr;
  void *log_user_ = nullptr;
  const char *(*admit_)(void *, const char *) = nullptr;
  void *admit_user_ = nullptr;
  std::vector<consort_entry_fn *> modules_;
};

namespace detail {

struct Owned {  // moved from, a Runtime stops nothing
  Control *control = nullptr;
  void (*log)(void *, int32_t, const char *) = nullptr;  // where the destructor writes; null: stderr
  void *log_user = nullptr;
  Owned() = default;
  Owned(Owned &&other) noexcept { *this = std::move(other); }
  Owned &operator=(Owned &&other) noexcept {
    control = std::exchange(other.control, nullptr);
    log = other.log;
    log_user = other.log_user;
    return *this;
  }
};

}  // namespace detail

}  // namespace consort::inline face
#endif
