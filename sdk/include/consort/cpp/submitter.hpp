// consort/cpp/submitter.hpp — Submitter: the part of a Runtime that submits tasks.
//
// Part of consort.hpp; include that: consort::Runtime has all of this. Any thread may call anything. What a submission
// is given is bound to the codelet's parameters when it is compiled; a submission allocates nothing.
#ifndef CONSORT_CPP_SUBMITTER_HPP
#define CONSORT_CPP_SUBMITTER_HPP
#include <consort/cpp/claims.hpp>
#include <consort/cpp/codelet.hpp>
#include <consort/cpp/conversion.hpp>
#include <consort/cpp/order.hpp>
#include <consort/cpp/registry.hpp>
#include <consort/cpp/submission.hpp>
#include <consort/cpp/task.hpp>

#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace consort::inline face {

class Job;

namespace detail {

// What a Runtime has for tasks.
class Submitter : public Registry {
 public:
  // -- tasks: what a codelet's parameters say, in their order; tokens anywhere among them --

  // Submits a task and returns at once: data by r(x), w(x), rw(x) and the like, arguments by value, in the order of the
  // codelet's parameters. Waits only while the window of pending tasks is full. Throws Error; the task is not submitted
  // then.
  template <class S, class... A>
  Task submit(const Codelet<S> &codelet, const A &...given) { return route<Task>(kPlain, codelet, given...); }
  template <class S, class... A>
  Task submit(const Options &options, const Codelet<S> &codelet, const A &...given) {
    return route<Task>(&options, codelet, given...);
  }
  // A function where a codelet belongs.
  template <class F, class... A>
    requires(!detail::CodeletType<F> && !detail::is_options<F>)
  Task submit(const F &, const A &...) {
    static_assert(detail::never<F>, "submit() takes a codelet: const consort::Codelet c{\"name\", consort::cpu(f)}; then submit(c, ...)");
    return {};
  }
  template <class F, class... A>
    requires(!detail::CodeletType<F>)
  Task submit(const Options &, const F &, const A &...) {
    static_assert(detail::never<F>, "submit() takes a codelet: const consort::Codelet c{\"name\", consort::cpu(f)}; then submit({...}, c, ...)");
    return {};
  }
  // Taken where nothing else fits: where an option in braces is misspelt, or its value is of another type.
  detail::misspelt_option_see_consort_Options submit(...) CONSORT_NEVER_FITS;
  // What submit() would send, to be sent with others.
  template <class S, class... A>
  Submission prepare(const Codelet<S> &codelet, const A &...given) {
    return route<Submission>(kPlain, codelet, given...);
  }
  template <class S, class... A>
  Submission prepare(const Options &options, const Codelet<S> &codelet, const A &...given) {
    return route<Submission>(&options, codelet, given...);
  }
  detail::misspelt_option_see_consort_Options prepare(...) CONSORT_NEVER_FITS;
  // In their order. The first that fails ends it and is thrown; those before it are submitted, and in `sent`.
  void submit_list(std::span<const Submission> list, std::vector<Task> &sent) { Submission::send(control_, list, sent); }
  std::vector<Task> submit_list(std::span<const Submission> list) {
    std::vector<Task> sent;
    return submit_list(list, sent), sent;
  }
  std::vector<Task> submit_list(std::initializer_list<Submission> list) {
    return submit_list(std::span(list.begin(), list.size()));
  }
  // A task that does nothing: done when all before it on these data are, and `after`.
  template <class V, uint32_t M, class... U>
  Task sync_point(Use<V, M> first, U... more) {
    return send<Task>(kPlain, {}, claim<true>(first), claim<true>(more)...);
  }
  template <class... U>
  Task sync_point(const Options &options, U... uses) { return send<Task>(&options, {}, claim<true>(uses)...); }
  detail::misspelt_option_see_consort_Options sync_point(...) CONSORT_NEVER_FITS;

 protected:
  Submitter() noexcept = default;
  Submitter(Submitter &&) noexcept = default;
  Submitter &operator=(Submitter &&) noexcept = default;
  ~Submitter() = default;

 private:
  friend class consort::Job;              // whose submissions go through Placed
  static constexpr const Options *kPlain = nullptr;
  // A use or value as it is given → as its parameter wants it.
  template <bool Passed, class V, uint32_t M>
  detail::Claim<Passed> claim(const Use<V, M> &use) const {
    if (use.home != control_.get()) [[unlikely]] {
      control_.need();  // whichever argument the compiler evaluates first
      detail::raise(CONSORT_E_INVAL,
                    "a datum of another runtime (or of none) is given to submit(); register it with the runtime that "
                    "runs the task");
    }
    return {use.data, M};
  }
  template <class Table, std::size_t Nth, class A>
  auto bind(const A &given) const {
    if constexpr (detail::is_token_use<A>) return claim<false>(given);
    else if constexpr (std::is_same_v<A, detail::NoUse>) return detail::Value<int>{0};
    else {
      using P = typename Table::template At<Table::given(Nth)>;
      if constexpr (detail::is_use<A>) return bind_use<P>(given);
      else {
        constexpr bool argument = detail::Param<P>::kind == detail::Kind::argument;
        static_assert(argument || !detail::Datum<A>,
                      "the codelet takes a datum here, with how it is used: give r(x), w(x), rw(x) or scratch(x)");
        static_assert(argument || detail::Datum<A>,
                      "the codelet takes a datum here: register the memory, auto x = rt.vector(v), and give r(x), w(x), rw(x) or scratch(x)");
        static_assert(!argument || std::is_convertible_v<const A &, P>,
                      "the argument does not convert to what the codelet takes here");
        static_assert(!argument || !detail::drops_fraction<P, A>,
                      "the codelet takes an integer here, and a floating-point value is given: static_cast says that its fraction is meant to go");
        if constexpr (argument && std::is_convertible_v<const A &, P>) return detail::Value<P>{detail::converted<P>(given)};
        else return detail::Value<int>{0};
      }
    }
  }
  template <class P, class V, uint32_t M>
  detail::Claim<true> bind_use(const Use<V, M> &use) const {
    static_assert(detail::Param<P>::kind == detail::Kind::data, "the codelet takes an argument here, not a datum");
    if constexpr (detail::Param<P>::kind == detail::Kind::data) {
      static_assert(std::is_same_v<typename detail::Layout<P>::Const, typename detail::Layout<V>::Const>,
                    "the codelet takes a datum of another layout or element here: a vector of double is none of float");
      static_assert(detail::Layout<P>::is_const || M != CONSORT_M_R,
                    "r(x) is given to a codelet that writes: make its parameter const, or give rw(x)");
      static_assert(!detail::Layout<P>::is_const || M == CONSORT_M_R, "the codelet only reads this datum: give r(x)");
    }
    return claim<true>(use);
  }
  template <class A>
  auto bind_untyped(const A &given) const {
    if constexpr (detail::is_use<A>) return claim<true>(given);
    else {
      static_assert(std::is_trivially_copyable_v<A>, "an argument is copied as bytes: it must be trivially copyable; a datum is "
                                                     "given as r(x), w(x) or rw(x) of auto x = rt.vector(v)");
      if constexpr (std::is_trivially_copyable_v<A>) return detail::Value<A>{given};
      else return detail::Value<int>{0};
    }
  }

  // Out: a Task, submitted, or a Submission, to be kept. O: Options, or Placed.
  template <class Out, class O, class S, class... A>
  Out route(const O *options, const Codelet<S> &codelet, const A &...given) {
    if constexpr (std::is_same_v<S, Untyped>) return send<Out>(options, codelet.id(control_), bind_untyped(given)...);
    else return route_typed<Out>(options, codelet, std::index_sequence_for<A...>{}, given...);
  }
  template <class Out, class O, class S, std::size_t... J, class... A>
  Out route_typed(const O *options, const Codelet<S> &codelet, std::index_sequence<J...>, const A &...given) {
    using Table = detail::ParamTable<S>;
    constexpr bool token[] = {detail::is_token_use<A>..., false};
    constexpr auto nth = [](const bool *tokens, std::size_t j) {
      std::size_t before = 0;
      for (std::size_t i = 0; i < j; ++i) before += !tokens[i];
      return before;
    };
    static_assert(nth(token, sizeof...(A)) == Table::ndata + Table::nargs,
                  "submit() gives more or fewer data and arguments than the codelet's function takes");
    if constexpr (nth(token, sizeof...(A)) == Table::ndata + Table::nargs)
      return send<Out>(options, codelet.id(control_), bind<Table, nth(token, J)>(given)...);
    else return {};
  }
  template <class Out, class O, class... W>
  Out send(const O *options, consort_codelet_id codelet, const W &...things) {
    constexpr uint32_t most_uses = (detail::claims<W> + ... + 0u), most_args = sizeof...(W) - most_uses;
    consort_use uses[most_uses + 1];
    consort_arg args[most_args + 1];
    uint32_t nuses = 0, nargs = 0;
    (detail::put_use<true>(uses, nuses, things), ...);
    (detail::put_use<false>(uses, nuses, things), ...);
    (detail::put_arg(args, nargs, things), ...);
    if constexpr (std::is_same_v<Out, Submission>) {
      Submission s;
      s.home_ = control_.get();
      s.codelet_ = codelet;
      if (options) s.options_ = *options;
      s.keep(uses, nuses, args, nargs);
      return s;
    } else {
      return send_now(options, codelet, most_uses ? uses : nullptr, nuses, most_args ? args : nullptr, nargs);
    }
  }
  template <class O>
  [[gnu::always_inline]] Task send_now(const O *given, consort_codelet_id codelet, const consort_use *uses, uint32_t nuses,
                                       const consort_arg *args, uint32_t nargs) {
    consort_task_desc d;
    d.size = CONSORT_TASK_BRIEF;
    d.flags = 0;
    d.codelet = codelet;
    d.uses = uses;
    d.args = args;
    d.nuses = nuses;
    d.nargs = nargs;
    d.priority = 0;
    d.worker = CONSORT_NONE;
    d.group = {};
    const Options *const options = options_of(given);
    if (options) detail::fill(d, *options);
    consort_task_id id{};
    consort_runtime *rt = control_.need();
    if constexpr (!std::is_same_v<O, Options>) return given->submit(rt, d);
    if (options && options->in_order()) return send_in_order(rt, d, *options);
    detail::check(consort_submit(rt, &d, &id));
    return {rt, id};
  }
  static const Options *options_of(const Options *options) noexcept { return options; }
  template <class O>
  static const Options *options_of(const O *placed) noexcept { return placed->options; }
  [[gnu::noinline]] static Task send_in_order(consort_runtime *rt, consort_task_desc &d, const Options &o) {
    detail::InOrder in_order;
    in_order.take(rt, o);
    in_order.put(d, o);
    consort_task_id id{};
    detail::check(consort_submit(rt, &d, &id));
    in_order.sent = true;
    return {rt, id};
  }
};

}  // namespace detail

}  // namespace consort::inline face
#endif
