// plugin/table.hpp — the manifest and the entry of a plugin that is written as a class; one line at file scope:
//
//   CONSORT_PLUGIN(mine, SCHEDULER, CONSORT_PF_VIRTUAL, "mine", "1.0.0", Mine);
//
// It has the arguments of CONSORT_MODULE, with the class in the place of the table. Everything that comes out is a
// constant. What the class may have: `summary` and `license` (strings), `params` (parameters(...)). A plugin's own
// object, one for each runtime, is a driver's class itself, else the class's `Settings`, made from the Host; without
// one the plugin has no state. The object may have
//   consort_status quiesce(uint64_t deadline_ns)          [control] after OK no thread, callback or op of ours is live
//   const void *extension(const char *id) noexcept        [control] a table that is asked for by id, or nullptr; of a
//                                                         plugin without an object: a static function of the class
#pragma once
#include <concepts>
#include <span>
#include <utility>

#include "host.hpp"

namespace consort::plugin {

template <class T>
T &some() noexcept;  // for questions to the compiler; never called

// The class declares parameters.
template <class C>
concept HasParams = requires {
  C::params.data() + C::params.size();
};
// The class has settings of its own, made once for each runtime.
template <class C>
concept HasSettings = requires {
  typename C::Settings;
};

struct Nothing {};  // the type of no object
// The plugin's own object: C itself where C::is_self, else C::Settings, else nothing.
template <class C>
struct SelfOf {
  using type = Nothing;
};
// C itself.
template <class C>
requires(C::is_self) struct SelfOf<C> {
  using type = C;
};
// C::Settings.
template <class C>
requires(!C::is_self && HasSettings<C>) struct SelfOf<C> {
  using type = typename C::Settings;
};
template <class C>
using Self = typename SelfOf<C>::type;
template <class C>
inline constexpr bool has_self = !std::is_same_v<Self<C>, Nothing>;

// Makes a T that gets the plugin's settings first, if the class has any.
template <class C, class T = C, class... A>
T *make(void *self, A &&...a) {
  if constexpr (!C::is_self && has_self<C>)
    return new T(*static_cast<const Self<C> *>(self), static_cast<A &&>(a)...);
  else
    return new T(static_cast<A &&>(a)...);
}

// Can make<C, T>(self, A...) be called?
template <class C, class T, class... A>
inline constexpr bool Makes = [] {
  if constexpr (!C::is_self && has_self<C>)
    return std::is_constructible_v<T, const Self<C> &, A...>;
  else
    return std::is_constructible_v<T, A...>;
}();

// The host of an Object; nullptr of anything else.
template <class T>
const consort_host *host_of(const T &t) noexcept {
  if constexpr (std::is_base_of_v<Object, T>)
    return t.host();
  else
    return nullptr;
}

// What a plugin says of itself, from its class.
template <class C>
constexpr consort_plugin manifest(uint32_t kind, uint32_t flags, const char *name, const char *version) {
  using S = Self<C>;
  consort_plugin p{};
  p.size = sizeof p;
  p.kind = kind;
  p.abi_major = C::abi_major;
  p.abi_minor = C::abi_minor;
  p.flags = flags;
  p.name = name;
  p.version = version;
  p.summary = p.license = "";
  if constexpr (requires { C::summary; }) p.summary = C::summary;
  if constexpr (requires { C::license; }) p.license = C::license;
  if constexpr (HasParams<C>) {
    p.params = C::params.data();
    p.nparams = static_cast<uint32_t>(C::params.size());
  }
  p.ops = &C::template table<C>;
  if constexpr (has_self<C>) {
    static_assert(std::is_constructible_v<S, Host>, "the plugin's own object is made from a consort::plugin::Host");
    p.init = [](const consort_host *h, void **self) noexcept -> consort_status {
      return guarded(h, [&] { *self = new S(Host(h)); });
    };
    p.fini = [](void *self) noexcept { delete static_cast<S *>(self); };
    if constexpr (requires(S & s) { s.quiesce(uint64_t{}); })
      p.quiesce = [](void *self, uint64_t deadline) noexcept -> consort_status {
        S &s = *static_cast<S *>(self);
        return guarded(host_of(s), [&] { return s.quiesce(deadline); });
      };
    if constexpr (requires(S & s) { s.extension(""); }) {
      static_assert(noexcept(some<S>().extension("")), "extension() must be noexcept: it has no status to answer");
      p.get = [](void *self, const char *id) noexcept -> const void * { return static_cast<S *>(self)->extension(id); };
    }
  } else if constexpr (requires { C::extension(""); }) {
    static_assert(noexcept(C::extension("")), "extension() must be noexcept: it has no status to answer");
    p.get = [](void *, const char *id) noexcept -> const void * { return C::extension(id); };
  }
  return p;
}

}  // namespace consort::plugin

// For the files beside this one, where C is the author's class: does it have the function, as it must be? The compiler
// says which line to write. A function that must be noexcept has no status by which to tell what was thrown.
#define CONSORT_HAS_CALL(f, args) \
  (                               \
      requires { &C::f; } || requires(C & c) { c.f args; })
#define CONSORT_NEEDS_CALL(f, args, as) \
  static_assert(                        \
      requires(C & c) { c.f args; }, "the class needs this function: " as)
#define CONSORT_NEEDS_NOEXCEPT(f, args, as) \
  static_assert(                            \
      requires(C & c) { requires noexcept(c.f args); }, "the class needs this function, and noexcept: " as)
#define CONSORT_IF_CALL(f, args, as)                                                                               \
  static_assert(                                                                                                   \
      !CONSORT_HAS_CALL(f, args) || requires(C & c) { c.f args; }, "the function must be written like this: " as); \
  if constexpr (CONSORT_HAS_CALL(f, args))
#define CONSORT_IF_NOEXCEPT(f, args, as)                                              \
  static_assert(                                                                      \
      !CONSORT_HAS_CALL(f, args) || requires(C & c) { requires noexcept(c.f args); }, \
      "the function must be written like this: " as);                                 \
  if constexpr (CONSORT_HAS_CALL(f, args))

#define CONSORT_PLUGIN(id, K, fl, nm, ver, ...)                                                           \
  static_assert(__VA_ARGS__::kind == CONSORT_KIND_##K, "the class is a plugin of another kind than " #K); \
  namespace {                                                                                             \
  constexpr consort_plugin consort_plugin_of_##id =                                                       \
      ::consort::plugin::manifest<__VA_ARGS__>(CONSORT_KIND_##K, (fl), nm, ver);                          \
  }                                                                                                       \
  CONSORT_MODULE(id, K, fl, nm, ver, consort_plugin_of_##id)
