// consort/cpp/claims.hpp — what submit() is given, on its way to the description of a task.
//
// Part of consort.hpp; include that. Nothing here is for programs. Pure functions.
#ifndef CONSORT_CPP_CLAIMS_HPP
#define CONSORT_CPP_CLAIMS_HPP
#include <consort/cpp/codelet.hpp>
#include <consort/cpp/data.hpp>
#include <consort/cpp/order.hpp>
#include <consort/cpp/use.hpp>

#include <cstring>
#include <type_traits>

namespace consort::inline face {

namespace detail {

// A submission on its way: each given thing becomes a Claim on a datum or the value of an argument.
template <bool Passed>
struct Claim {
  consort_data_id data;
  uint32_t mode;
};
template <class T>
struct Value {
  T value;
};
template <class T>
inline constexpr bool is_use = false;
template <class V, uint32_t M>
inline constexpr bool is_use<Use<V, M>> = true;
template <class T>
inline constexpr bool is_token_use = false;
template <uint32_t M>
inline constexpr bool is_token_use<Use<void, M>> = true;
template <class T>
inline constexpr bool is_options = std::is_same_v<std::remove_cvref_t<T>, Options>;

template <class T>
concept CodeletType = requires(const T &c) { []<class S>(const Codelet<S> &) {}(c); };
// Result of the overloads of the lowest rank, name(...): the compiler then names one function instead of all that do not fit.
class misspelt_option_see_consort_Options {};
#ifdef __clang__
#define CONSORT_NEVER_FITS                                                                                        \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wgcc-compat\"")                          \
  __attribute__((diagnose_if(true, "misspelt_option_see_consort_Options: no option has this name and takes this value", "error"))) \
  _Pragma("clang diagnostic pop")
#else
#define CONSORT_NEVER_FITS = delete
#endif

template <class T>
inline constexpr uint32_t claims = 0;
template <bool P>
inline constexpr uint32_t claims<Claim<P>> = 1;

template <bool Passed, bool P>
void put_use(consort_use *uses, uint32_t &n, const Claim<P> &c) noexcept {
  if constexpr (P == Passed) uses[n++] = {c.data, c.mode, 0};
}
template <bool Passed, class T>
void put_use(consort_use *, uint32_t &, const Value<T> &) noexcept {}
template <bool P>
void put_arg(consort_arg *, uint32_t &, const Claim<P> &) noexcept {}
template <class T>
void put_arg(consort_arg *args, uint32_t &n, const Value<T> &v) noexcept {
  static_assert(std::is_trivially_copyable_v<T>, "an argument is copied as bytes: it must be trivially copyable");
  uint64_t scalar = 0;
  if constexpr (sizeof(T) <= sizeof scalar) std::memcpy(&scalar, &v.value, sizeof(T));
  else scalar = reinterpret_cast<uintptr_t>(&v.value);
  args[n++] = {sizeof(T) <= sizeof scalar ? CONSORT_ARG_SCALAR : CONSORT_ARG_BYTES, sizeof(T), {0, 0}, 0, scalar};
}

inline void fill(consort_task_desc &d, const Options &o) noexcept {
  d.size = sizeof d;
  d.priority = o.priority;
  d.worker = o.worker;
  d.group = o.group.id();
  d.after = o.after.data();
  d.nafter = o.after.size();
  d.reserved = 0;
  d.done = o.done.fn();
  d.done_arg = o.done.arg();
  d.name = o.name;
  d.footprint = o.footprint;
  d.work = o.work;
  d.more = nullptr;
  static_assert(CONSORT_END(consort_task_desc, more) == sizeof d, "every field is set here: also one that is new");
}

// f of Runtime::run_on_each(), as the kernel calls it.
template <class F>
consort_status on_worker(F &f, const consort_call &c) {
  if constexpr (std::is_invocable_r_v<consort_status, F &, const consort_call &>) return f(c);
  else if constexpr (std::is_invocable_v<F &, const consort_call &>) return f(c), CONSORT_OK;
  else if constexpr (std::is_invocable_r_v<consort_status, F &>) return f();
  else return f(), CONSORT_OK;
}

}  // namespace detail

}  // namespace consort::inline face
#endif
