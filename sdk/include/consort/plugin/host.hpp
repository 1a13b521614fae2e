// plugin/host.hpp — the host as a plugin in C++ sees it: errors that become statuses, parameters by their types.
//
// Header only; links nothing. A Host is a pointer and is copied; its functions have the thread tags of consort_host.
// An exception never crosses the boundary: what a function of a plugin throws ends in its trampoline as a status,
//   Error                 its own status and text
//   std::bad_alloc        CONSORT_E_NOMEM
//   std::exception        CONSORT_E_INTERNAL with what()
//   anything else         CONSORT_E_INTERNAL
// Functions that have no status to answer with must be noexcept; the compiler says which.
#pragma once
#if __cplusplus < 202002L
#error "the C++ headers for plugins need C++20: compile with -std=c++20; in CMake, consort_add_plugin() asks for it"
#endif
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../plugin.h"

namespace consort::plugin {

// What a function of a plugin throws to answer a status with a text.
class Error : public std::runtime_error {
 public:
  // A status below 0, and a sentence that says what to do.
  Error(consort_status status, const std::string &text) : std::runtime_error(text), status_(status) {}
  // The status; CONSORT_E_INTERNAL where it was made of one that is no error.
  consort_status status() const noexcept { return status_ < 0 ? status_ : CONSORT_E_INTERNAL; }

 private:
  consort_status status_;
};

// -- parameters ---------------------------------------------------------------------------------------------------

// The name of a parameter's type as consort_param has it.
template <class T>
constexpr const char *type_name() {
  if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_same_v<T, int32_t>)
    return "i32";
  else if constexpr (std::is_same_v<T, int64_t>)
    return "i64";
  else if constexpr (std::is_same_v<T, uint32_t>)
    return "u32";
  else if constexpr (std::is_same_v<T, uint64_t>)
    return "u64";
  else if constexpr (std::is_same_v<T, double>)
    return "f64";
  else if constexpr (std::is_same_v<T, std::string>)
    return "string";
  else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    return "list";
  else
    static_assert(!sizeof(T *),
                  "a parameter is bool, (u)int32_t, (u)int64_t, double, std::string or a std::vector of it");
}

// A parameter that the plugin declares and, by the same object, reads: it cannot be read as another type.
//   static constexpr Param<uint32_t> depth{"depth", "64", "1..1024", "ops in flight"};
//   static constexpr auto params = parameters(depth);
template <class T>
struct Param {
  const char *key, *dflt, *range, *help;
  // The row that a manifest lists.
  constexpr operator consort_param() const { return {key, type_name<T>(), dflt, range, help}; }
};

// The rows of a manifest, from parameters.
template <class... T>
constexpr std::array<consort_param, sizeof...(T)> parameters(const Param<T> &...p) {
  return {consort_param(p)...};
}

// A parameter's text as a T. Throws Error (E_INVAL) where it is none.
template <class T>
T parse(std::string_view text, const char *key) {
  const auto bad = [&] {
    return Error(CONSORT_E_INVAL, std::string("parameter ") + key + " is \"" + std::string(text) + "\", which is no " +
                                      type_name<T>() + "; `consort plugins -v` says what it may be");
  };
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(text);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    T list;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      std::string_view word = text.substr(at, end - at);
      while (word.starts_with(' ')) word.remove_prefix(1);
      while (word.ends_with(' ')) word.remove_suffix(1);
      if (!word.empty()) list.emplace_back(word);
      at = end + 1;
    }
    return list;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (text != "true" && text != "false") throw bad();
    return text == "true";
  } else {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) throw bad();
    return value;
  }
}

// -- the host -----------------------------------------------------------------------------------------------------

// The host: a pointer, copied freely.
class Host {
 public:
  Host(const consort_host *h) noexcept : h_(h) {}  // Of the table that the plugin was given.
  operator const consort_host *() const noexcept { return h_; }  // The table, for calls that are not wrapped here.

  void log(int32_t level, const char *text) const noexcept { h_->log(h_, level, text); }                    // [any]
  void log(int32_t level, const std::string &text) const noexcept { log(level, text.c_str()); }             // [any]
  consort_status fail(consort_status s, const char *text) const noexcept { return h_->fail(h_, s, text); }  // [any]
  uint64_t now() const noexcept { return h_->now(h_); }                                                     // [any]
  // [any] Tells the kernel that something happened to an object of the plugin's.
  void event(uint32_t what, uint64_t object, int64_t detail = 0) const noexcept {
    h_->event(h_, what, object, detail);
  }

  // [control] What the user set, or the default. Throws Error where the host answers what it may not.
  template <class T>
  T value(const Param<T> &p) const {
    const char *text = h_->param ? h_->param(h_, p.key) : nullptr;
    return parse<T>(text ? text : p.dflt, p.key);
  }
  // [control] A table by its id, "consort.sched/1"; nullptr: this host has none.
  template <class Table>
  const Table *service(const char *id) const noexcept {
    return h_->get ? static_cast<const Table *>(h_->get(h_, id)) : nullptr;
  }

 private:
  const consort_host *h_;
};

// What has a host: base of everything here that lives.
class Object {
 public:
  explicit Object(Host h) noexcept : host_(h) {}  // Keeps the host; for constructors of derived classes.
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  Host host() const noexcept { return host_; }  // The host that made it.

 protected:
  ~Object() = default;  // deleted as what it is, never by this

 private:
  Host host_;
};

// -- exceptions ---------------------------------------------------------------------------------------------------

// In a catch block: what was thrown, as a status; the host keeps the text. h may be nullptr: a
// [pure] function calls no host. memory: what is said where memory ended.
[[gnu::cold]] inline consort_status caught(const consort_host *h, const char *memory = "out of memory") noexcept {
  const auto tell = [h](consort_status s, const char *text) { return h ? h->fail(h, s, text) : s; };
  try {
    throw;
  } catch (const Error &e) {
    return tell(e.status(), e.what());
  } catch (const std::bad_alloc &) {
    return tell(CONSORT_E_NOMEM, memory);
  } catch (const std::exception &e) {
    return tell(CONSORT_E_INTERNAL, e.what());
  } catch (...) {
    return tell(CONSORT_E_INTERNAL, "the plugin has thrown what is no std::exception");
  }
}

// f() answers a consort_status, or nothing, which is OK.
template <class F>
consort_status guarded(const consort_host *h, F &&f) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(f())>)
      return f(), CONSORT_OK;
    else
      return f();
  } catch (...) {
    return caught(h);
  }
}

// -- structs that grow --------------------------------------------------------------------------------------------

// Theirs, as large as they know it, as a whole one of ours.
template <class T>
T taken(const T *theirs) noexcept {
  T mine{};
  std::char_traits<char>::copy(reinterpret_cast<char *>(&mine), reinterpret_cast<const char *>(theirs),
                               theirs->size < sizeof mine ? theirs->size : sizeof mine);
  mine.size = sizeof mine;
  return mine;
}
// No more than they have room for, and their `size` stays.
template <class T>
void given(T *theirs, T mine) noexcept {
  mine.size = theirs->size;
  std::char_traits<char>::copy(reinterpret_cast<char *>(theirs), reinterpret_cast<const char *>(&mine),
                               mine.size < sizeof mine ? mine.size : sizeof mine);
}

}  // namespace consort::plugin
