// consort/cpp/codelet.hpp — Codelet: a const object made of typed functions, one for each class of unit or several.
//
// Part of consort.hpp; include that. A function's parameters say what it wants, in the order in which
// submissions give it:
//   std::span<T>, consort::Matrix<T>, T&    data: vector, matrix, variable. Const elements: it only reads
//   consort::Block<T>, Tensor<T>, Ndim<T>   data: block, tensor, ndim
//   anything else, by value                 an argument, copied at submission; trivially copyable
//   const consort_call&                     the call itself (worker, queue, views …); submissions skip it. A function
//                                           that takes nothing else takes any data and arguments, unchecked
// It answers void or a consort_status. What it throws fails the task with what() as its text.
//
// A codelet is added to a runtime at its first use there; from then on a submission finds its id by one load
// and one comparison. It must outlive its tasks; its destructor waits for them and must not run inside a task.
#ifndef CONSORT_CPP_CODELET_HPP
#define CONSORT_CPP_CODELET_HPP
#include <consort/cpp/error.hpp>
#include <consort/cpp/layout.hpp>

#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace consort::inline face {

struct Untyped;  // the signature of a codelet with unchecked submissions: its functions take the call alone
// Given to a Codelet among its implementations.
template <uint32_t Bits>
struct CodeletFlag {};
inline constexpr CodeletFlag<CONSORT_CL_ASYNC> async{};    // its functions only enqueue on call.native_queue
inline constexpr CodeletFlag<CONSORT_CL_STATS> counted{};  // its tasks are counted by worker: Runtime::counts()
// A team of workers may run it (consort/teams.h): one of them calls its function, which may use the cores of all, or each.
inline constexpr CodeletFlag<CONSORT_CL_FORKJOIN> forkjoin{};
inline constexpr CodeletFlag<CONSORT_CL_SPMD> spmd{};
// No larger team than this.
struct max_team {
  constexpr explicit max_team(uint32_t workers) noexcept : n(workers) {}  // At least 1.
  uint32_t n;
};

namespace detail {

enum class Kind { data, argument, call };

// Param<P>: what parameter type P is, and how to make it from a call.
template <class P>
struct Param {
  static_assert(!std::is_reference_v<P>, "a codelet takes data as T& or by value; T&& is neither");
  static_assert(std::is_trivially_copyable_v<P>,
                "an argument of a codelet is copied as bytes: it must be trivially copyable");
  static constexpr Kind kind = Kind::argument;
  static bool fits(const consort_call &c, unsigned i) noexcept { return c.args[i].bytes == sizeof(P); }
  static P get(const consort_call &c, unsigned i) noexcept {
    const consort_arg &a = c.args[i];
    alignas(P) unsigned char bytes[sizeof(P)];
    std::memcpy(
        bytes,
        a.kind == CONSORT_ARG_BYTES ? reinterpret_cast<const void *>(static_cast<uintptr_t>(a.scalar)) : &a.scalar,
        sizeof(P));
    return *std::launder(reinterpret_cast<P *>(bytes));
  }
  static void misfit(const consort_call &c, unsigned i, char *out, std::size_t n) noexcept {
    std::snprintf(out, n, "argument %u of the codelet is %u bytes, its function takes %u", i, c.args[i].bytes,
                  static_cast<unsigned>(sizeof(P)));
  }
};
template <class V>
struct DataParam {
  static constexpr Kind kind = Kind::data;
  static constexpr bool is_const = Layout<V>::is_const;
  static bool fits(const consort_call &c, unsigned i) noexcept {
    return Layout<V>::element(c.views[i]) == Layout<V>::bytes;
  }
  static V get(const consort_call &c, unsigned i) noexcept { return Layout<V>::view(c.views[i]); }
  static void misfit(const consort_call &c, unsigned i, char *out, std::size_t n) noexcept {
    std::snprintf(out, n, "datum %u of the codelet has elements of %llu bytes, its function takes a %s of %llu", i,
                  static_cast<unsigned long long>(Layout<V>::element(c.views[i])), Layout<V>::interface,
                  static_cast<unsigned long long>(Layout<V>::bytes));
  }
};
template <class T>
struct Param<std::span<T>> : DataParam<std::span<T>> {};
template <class T>
struct Param<Matrix<T>> : DataParam<Matrix<T>> {};
template <class T>
struct Param<Block<T>> : DataParam<Block<T>> {};
template <class T>
struct Param<Tensor<T>> : DataParam<Tensor<T>> {};
template <class T>
struct Param<Ndim<T>> : DataParam<Ndim<T>> {};
template <class T>
struct Param<T &> : DataParam<T &> {
  static_assert(!Layout<std::remove_const_t<T>>::is_data, "a codelet takes spans, matrices and the like by value");
};
struct CallParam {
  static constexpr Kind kind = Kind::call;
  static bool fits(const consort_call &, unsigned) noexcept { return true; }
  static void misfit(const consort_call &, unsigned, char *, std::size_t) noexcept {}
};
template <>
struct Param<const consort_call &> : CallParam {
  static const consort_call &get(const consort_call &c, unsigned) noexcept { return c; }
};
template <>
struct Param<const consort_call *> : CallParam {
  static const consort_call *get(const consort_call &c, unsigned) noexcept { return &c; }
};

// A codelet's parameters as a table: of what kind the i-th is, and which of its kind.
constexpr unsigned count_kind(const Kind *kinds, Kind k, std::size_t before) noexcept {
  unsigned found = 0;
  for (std::size_t i = 0; i < before; ++i) found += kinds[i] == k;
  return found;
}
template <class... P>
struct Params {
  static constexpr std::size_t n = sizeof...(P);
  static constexpr Kind kinds[n + 1] = {Param<P>::kind..., Kind::call};
  static constexpr unsigned ndata = count_kind(kinds, Kind::data, n), nargs = count_kind(kinds, Kind::argument, n);
  static constexpr unsigned rank(std::size_t i) noexcept {
    return count_kind(kinds, kinds[i], i);
  }                                                             // which of its kind
  static constexpr std::size_t given(std::size_t k) noexcept {  // the k-th that a submission gives; n: no such
    for (std::size_t i = 0; i < n; ++i)
      if (kinds[i] != Kind::call && k-- == 0) return i;
    return n;
  }
};

template <class R, class... P>
struct FunctionOf {
  static_assert(std::is_void_v<R> || std::is_same_v<R, consort_status>,
                "a codelet's function answers void or consort_status");
  static constexpr bool untyped = (Params<P...>::ndata + Params<P...>::nargs) == 0 && sizeof...(P) == 1;
  using Signature = std::conditional_t<untyped, Untyped, void(P...)>;

  template <class F, std::size_t... I>
  static consort_status enter(F &f, const consort_call &c, std::index_sequence<I...>) {
    using Table = Params<P...>;
    if (c.nviews < Table::ndata || c.nargs < Table::nargs || !(Param<P>::fits(c, Table::rank(I)) && ...)) [[unlikely]]
      return refuse(c, std::index_sequence<I...>{});
    if constexpr (std::is_void_v<R>) {
      f(Param<P>::get(c, Table::rank(I))...);
      return CONSORT_OK;
    } else return f(Param<P>::get(c, Table::rank(I))...);
  }
  template <std::size_t... I>
  [[gnu::cold, gnu::noinline]] static consort_status refuse(const consort_call &c, std::index_sequence<I...>) noexcept {
    using Table = Params<P...>;
    char text[160] = "";
    if (c.nviews < Table::ndata || c.nargs < Table::nargs)
      std::snprintf(text, sizeof text, "the codelet's function takes %u data and %u arguments, the task has %u and %u",
                    Table::ndata, Table::nargs, c.nviews, c.nargs);
    else
      ((*text || Param<P>::fits(c, Table::rank(I)) ? void() : Param<P>::misfit(c, Table::rank(I), text, sizeof text)),
       ...);
    return consort_fail(CONSORT_E_INVAL, text);
  }
};

template <class M>
struct Callable {
  static_assert(sizeof(M) == 0,
                "a codelet's function has fixed parameter types and is const: workers call it at the same time");
  using Signature = Untyped;
  template <class F>
  static consort_status enter(const F &, const consort_call &, std::index_sequence<0>) {
    return CONSORT_E_INVAL;
  }
};
template <class F, class R, class... P>
struct Callable<R (F::*)(P...) const> : FunctionOf<R, P...> {};
template <class F, class R, class... P>
struct Callable<R (F::*)(P...) const noexcept> : FunctionOf<R, P...> {};
template <class R, class... P>
struct Callable<R (*)(P...)> : FunctionOf<R, P...> {};
template <class R, class... P>
struct Callable<R (*)(P...) noexcept> : FunctionOf<R, P...> {};

template <class F>
struct NoFunction {
  static_assert(sizeof(F) == 0, "a codelet's function is a lambda, function object or function with fixed parameter types: a generic "
                                "one (auto, templates, overloads) does not say which data and arguments it takes");
  using Signature = Untyped;
  static consort_status enter(const F &, const consort_call &, std::index_sequence<0>) { return CONSORT_E_INVAL; }
};
template <class F>
struct TraitsOf : NoFunction<F> {};
template <class F>
  requires requires { &F::operator(); }
struct TraitsOf<F> : Callable<decltype(&F::operator())> {};
template <class R, class... P>
struct TraitsOf<R (*)(P...)> : Callable<R (*)(P...)> {};
template <class R, class... P>
struct TraitsOf<R (*)(P...) noexcept> : Callable<R (*)(P...) noexcept> {};

template <class M>
struct ParamTable;
template <class... P>
struct ParamTable<void(P...)> : Params<P...> {
  template <std::size_t I, class Head, class... Tail>
  static auto pick() noexcept {
    if constexpr (I == 0) return std::type_identity<Head>{};
    else return pick<I - 1, Tail...>();
  }
  template <std::size_t I>
  using At = typename decltype(pick<I, P...>())::type;
};

// The failure of whatever is in flight; inside a catch block only.
[[gnu::cold, gnu::noinline]] inline consort_status fail_as_thrown() noexcept {
  try {
    throw;
  } catch (const Error &e) {
    return consort_fail(e.status() < 0 ? e.status() : CONSORT_E_INTERNAL, e.what());
  } catch (const std::bad_alloc &e) {
    return consort_fail(CONSORT_E_NOMEM, e.what());
  } catch (const std::exception &e) {
    return consort_fail(CONSORT_E_INTERNAL, e.what());
  } catch (...) {
    return consort_fail(CONSORT_E_INTERNAL, "the codelet threw something that is no std::exception");
  }
}

template <class F, class S = typename TraitsOf<F>::Signature>
struct Entry;
template <class F, class... P>
struct Entry<F, void(P...)> {
  static consort_status call(const consort_call *c) noexcept {
    try {
      return TraitsOf<F>::enter(*static_cast<const F *>(c->user), *c, std::index_sequence_for<P...>{});
    } catch (...) {
      return fail_as_thrown();
    }
  }
};
template <class F>
struct Entry<F, Untyped> {
  static consort_status call(const consort_call *c) noexcept {
    try {
      return TraitsOf<F>::enter(*static_cast<const F *>(c->user), *c, std::index_sequence<0>{});
    } catch (...) {
      return fail_as_thrown();
    }
  }
};

// A codelet's parameter, its type forgotten. An Ndim has as many dimensions as it says when it runs.
struct Parameter {
  Kind kind;
  unsigned rank, dims;  // which of its kind; of a datum
  bool ndim;
};
template <class P>
inline constexpr bool is_ndim = false;
template <class T>
inline constexpr bool is_ndim<Ndim<T>> = true;
// The parameters that a submission gives, as a table.
template <class M>
struct ParametersOf {  // of an unchecked codelet: unknown
  static constexpr const Parameter *all = nullptr;
  static constexpr uint32_t n = CONSORT_NONE;
};
template <class... P>
struct ParametersOf<void(P...)> {
  static constexpr uint32_t n = Params<P...>::ndata + Params<P...>::nargs;
  struct Table {
    Parameter p[sizeof...(P) + 1];
  };
  static constexpr Table make() noexcept {
    const Parameter each[] = {{Param<P>::kind, 0, dims<P>, is_ndim<P>}..., {Kind::call, 0, 0, false}};
    Table t{};
    for (std::size_t i = 0, k = 0; i < sizeof...(P); ++i)
      if (each[i].kind != Kind::call) t.p[k] = each[i], t.p[k++].rank = Params<P...>::rank(i);
    return t;
  }
  static constexpr Table table = make();
  static constexpr const Parameter *all = table.p;
};

// One implementation, its type forgotten. Owns the function object that `user` points to.
struct AnyImpl {
  AnyImpl() = default;
  [[gnu::noinline]] AnyImpl(AnyImpl &&other) noexcept
      : klass(std::move(other.klass)),
        format(std::move(other.format)),
        text(std::move(other.text)),
        entry(std::move(other.entry)),
        fn(other.fn),
        user(other.user),
        drop(std::exchange(other.drop, nullptr)),
        bind(other.bind) {}
  AnyImpl &operator=(AnyImpl &&) = delete;
  [[gnu::noinline]] ~AnyImpl() {
    if (drop) drop(user);
  }
  std::string klass, format, text, entry;
  consort_call_fn *fn = nullptr;
  void *user = nullptr;
  void (*drop)(void *) = nullptr;
  // Of a kernel that names its arguments: fits them to the codelet's n parameters (none: CONSORT_NONE), or says what is wrong.
  std::string (*bind)(AnyImpl &, const Parameter *, uint32_t n) = nullptr;
};

template <class S>
struct Impl {
  using Signature = S;
  AnyImpl any;
};
struct Portable;  // signature of an implementation that is text

}  // namespace detail

// An implementation for units of class `klass`, by any of
//   a function or function object with typed parameters, see above (a lambda may capture: it is kept in the codelet)
//   a consort_call_fn, which reads the call itself; `user` is handed on as call->user
//   a portable kernel (kernel.hpp): a Kernel, or format, text and entry
template <class F>
auto impl(std::string klass, F f) {
  using Plain = std::decay_t<F>;
  detail::Impl<typename detail::TraitsOf<Plain>::Signature> out;
  out.any.klass = std::move(klass);
  out.any.user = new Plain(std::move(f));
  out.any.drop = [](void *p) { delete static_cast<Plain *>(p); };
  out.any.fn = detail::Entry<Plain>::call;
  return out;
}
inline detail::Impl<Untyped> impl(std::string klass, consort_call_fn *fn, void *user = nullptr) {
  detail::Impl<Untyped> out;
  out.any.klass = std::move(klass);
  out.any.fn = fn;
  out.any.user = user;
  return out;
}
// impl("cpu", ...): a function for a core.
template <class... F>
auto cpu(F... f) { return impl("cpu", std::move(f)...); }
// impl("cuda", ...), impl("hip", ...): a function for the host that enqueues on the unit's stream. Kernels: cuda_source() and the like.
template <class... F>
auto cuda(F... f) { return impl("cuda", std::move(f)...); }
// impl("hip", ...): a function for the host that enqueues on the unit's stream.
template <class... F>
auto hip(F... f) { return impl("hip", std::move(f)...); }
// impl("opencl", ...), impl("level_zero", ...): a function that enqueues on the unit's queue or list.
template <class... F>
auto opencl(F... f) { return impl("opencl", std::move(f)...); }
// impl("level_zero", ...): a function that enqueues on the unit's list.
template <class... F>
auto level_zero(F... f) { return impl("level_zero", std::move(f)...); }

namespace detail {

template <class... S>
struct Common {
  using type = Untyped;
};
template <class S, class... More>
struct Common<S, More...> {
  using type = S;
};
template <class... More>
struct Common<Untyped, More...> : Common<More...> {};
template <class... More>
struct Common<Portable, More...> : Common<More...> {};
template <uint32_t Bits, class... More>
struct Common<CodeletFlag<Bits>, More...> : Common<More...> {};
template <class... More>
struct Common<max_team, More...> : Common<More...> {};

template <class I>
struct SignatureOf {
  static_assert(sizeof(I) == 0, "a Codelet is made of implementations, each for a class of units: Codelet c{\"name\", cpu(f)}, or cuda(f), "
                                "opencl(f), impl(\"class\", f)");
  using type = Untyped;
};
template <class I>
  requires requires { typename I::Signature; }
struct SignatureOf<I> {
  using type = typename I::Signature;
};
template <class T>
inline constexpr uint32_t flag_of = 0;
template <uint32_t Bits>
inline constexpr uint32_t flag_of<CodeletFlag<Bits>> = Bits;
template <uint32_t Bits>
struct SignatureOf<CodeletFlag<Bits>> {
  using type = CodeletFlag<Bits>;
};
template <>
struct SignatureOf<max_team> {
  using type = max_team;
};
template <class S, class I>
inline constexpr bool agrees = std::is_same_v<S, I> || std::is_same_v<I, Untyped> || std::is_same_v<I, Portable> ||
                               std::is_same_v<I, max_team> || flag_of<I> != 0;

// What all codelets share: the description, and which id it has in which runtime.
class AnyCodelet {
 public:
  AnyCodelet(const AnyCodelet &) = delete;
  AnyCodelet &operator=(const AnyCodelet &) = delete;

  const std::string &name() const noexcept { return name_; }
  consort_codelet_id id(const Ref &control) const {
    for (const Slot *s = &first_; s; s = s->next.load(std::memory_order_acquire))
      if (s->key.load(std::memory_order_acquire) == control.get()) [[likely]]
        return {s->id.load(std::memory_order_relaxed)};
    return add_to(control);
  }

 protected:
  [[gnu::noinline]] AnyCodelet(std::string name, uint32_t flags) : name_(std::move(name)), flags_(flags) {}
  [[gnu::noinline]] ~AnyCodelet() {
    for (Slot *s = &first_; s;) {
      if (consort_runtime *rt = s->home.live()) consort_codelet_remove(rt, {s->id.load(std::memory_order_relaxed)});
      Slot *next = s->next.load(std::memory_order_relaxed);
      if (s != &first_) delete s;
      s = next;
    }
  }
  [[gnu::noinline]] void take(AnyImpl &i) { impls_.push_back(std::move(i)); }
  [[gnu::noinline]] void bind(AnyImpl &i, const Parameter *given, uint32_t n) {
    if (!i.bind) return;
    const std::string wrong = i.bind(i, given, n);
    if (fault_.empty() && !wrong.empty()) fault_ = "codelet '" + name_ + "': " + wrong;
  }
  std::vector<AnyImpl> impls_;
  uint32_t max_team_ = 0;

 private:
  // Grows only; a slot of a runtime that has stopped is used again. Its `home` keeps the key's address taken.
  struct Slot {
    std::atomic<const Control *> key{nullptr};  // release in add_to() pairs with acquire in id(): `id` is then good
    std::atomic<uint64_t> id{0};                // under `key`
    std::atomic<Slot *> next{nullptr};          // release in add_to() pairs with acquire in id()
    Ref home;                                   // under lock_
  };
  [[gnu::cold, gnu::noinline]] consort_codelet_id add_to(const Ref &control) const {
    consort_runtime *rt = control.need();
    if (!fault_.empty()) raise(CONSORT_E_INVAL, fault_.c_str());
    const Guard guard(lock_);
    Slot *slot = nullptr, *last = &first_;
    for (Slot *s = &first_; s; last = s, s = s->next.load(std::memory_order_relaxed)) {
      if (s->key.load(std::memory_order_relaxed) == control.get()) return {s->id.load(std::memory_order_relaxed)};
      if (!slot && !s->home.live()) slot = s;
    }
    std::vector<consort_impl> list;
    list.reserve(impls_.size());
    for (const AnyImpl &i : impls_)
      list.push_back({i.klass.c_str(), i.fn, i.user, nullptr, i.format.empty() ? nullptr : i.format.c_str(),
                      i.text.empty() ? nullptr : i.text.c_str(), i.entry.empty() ? nullptr : i.entry.c_str(),
                      i.text.size()});
    consort_codelet d = CONSORT_CODELET_INIT;
    d.flags = flags_;
    d.name = name_.c_str();
    d.impls = list.data();
    d.nimpls = static_cast<uint32_t>(list.size());
    d.max_team = max_team_;
    Slot *fresh = slot ? nullptr : new Slot;
    consort_codelet_id id{};
    if (const consort_status status = consort_codelet_add(rt, &d, &id); status < 0) {
      delete fresh;
      raise(status);
    }
    if (slot) slot->key.store(nullptr, std::memory_order_relaxed);
    else slot = fresh;
    slot->id.store(id.v, std::memory_order_relaxed);
    slot->home = control;
    slot->key.store(control.get(), std::memory_order_release);
    if (fresh) last->next.store(fresh, std::memory_order_release);
    return id;
  }

  std::string name_, fault_;  // fault_: why no runtime can take it; said where it is first used
  uint32_t flags_;
  mutable std::atomic<bool> lock_{false};  // see Guard
  mutable Slot first_;
};

}  // namespace detail

// A codelet whose submissions are checked against Signature, a function type: void(std::span<float>, float).
template <class Signature = Untyped>
class Codelet : public detail::AnyCodelet {
 public:
  // A name for errors and traces; implementations, async, counted, forkjoin, spmd, max_team in any order. Added to a
  // runtime by the first task that is submitted there.
  template <class... I>
  explicit Codelet(std::string name, I... impls)
      : AnyCodelet(std::move(name), (detail::flag_of<I> | ... | 0u)) {
    static_assert((detail::agrees<Signature, typename detail::SignatureOf<I>::type> && ...),
                  "all implementations of a codelet take the same parameters");
    (keep(impls), ...);
  }

 private:
  template <uint32_t Bits>
  void keep(CodeletFlag<Bits>) noexcept {}
  void keep(max_team most) noexcept { max_team_ = most.n; }
  template <class S>
  void keep(detail::Impl<S> &i) { take(i.any); }
  void keep(detail::Impl<detail::Portable> &i) {
    using Given = detail::ParametersOf<Signature>;
    bind(i.any, Given::all, Given::n);
    take(i.any);
  }
  template <class Other>
  void keep(const Other &) noexcept {}  // refused by SignatureOf
};
template <class... I>
Codelet(std::string, I...) -> Codelet<typename detail::Common<typename detail::SignatureOf<I>::type...>::type>;
template <class... I>
Codelet(const char *, I...) -> Codelet<typename detail::Common<typename detail::SignatureOf<I>::type...>::type>;

// In a function of a codelet that is `spmd`: until all of the team have come here. Throws where that cannot be any more, for one of
// them has failed or left: the function ends with that.
inline void barrier(const consort_call &call) {
  if (const consort_status s = call.barrier(&call); s < 0) detail::raise(s);
}

}  // namespace consort::inline face
#endif
