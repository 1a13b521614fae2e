// consort/cpp/data.hpp — Data<V>: a registered datum that a codelet sees as V; Held<V>: the application inside it.
//
// Part of consort.hpp; include that. Both are move-only owners: a Data unregisters in its destructor, a Held
// releases in its own; neither throws there. Any thread may use a Data; one thread at a time moves or ends it.
#ifndef CONSORT_CPP_DATA_HPP
#define CONSORT_CPP_DATA_HPP
#include <consort/cpp/error.hpp>
#include <consort/cpp/layout.hpp>
#include <consort/memory.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace consort::inline face {

struct Untyped;
template <class Signature>
class Codelet;

namespace detail {

class Hold {  // the right that a Held carries
 public:
  Hold(const Ref &control, consort_hold hold) noexcept : control_(control), hold_(hold) {}
  Hold(Hold &&other) noexcept
      : control_(std::move(other.control_)), hold_(std::exchange(other.hold_, consort_hold{})) {}
  Hold &operator=(Hold &&other) noexcept {
    if (this != &other) {
      release();
      control_ = std::move(other.control_);
      hold_ = std::exchange(other.hold_, consort_hold{});
    }
    return *this;
  }
  ~Hold() { release(); }
  void release() noexcept {
    consort_runtime *rt = control_.live();
    if (hold_.id.v && rt) consort_release(rt, hold_);
    hold_ = consort_hold{};
  }

 private:
  Ref control_;
  consort_hold hold_;
};

// Sizes<V>: the arguments of a datum that is seen as V, of sizes alone: packed, without an address.
template <class V>
struct Sizes;
template <std::size_t N>
struct Exactly {
  static constexpr bool fit(std::size_t n) noexcept { return n == N; }
};
template <class T>
struct Sizes<T &> : Exactly<0> {
  static consort_variable_args args(const std::size_t *, std::size_t) noexcept { return {nullptr, sizeof(T)}; }
};
template <class T>
struct Sizes<std::span<T>> : Exactly<1> {
  static consort_vector_args args(const std::size_t *n, std::size_t) noexcept { return {nullptr, n[0], sizeof(T)}; }
};
template <class T>
struct Sizes<Matrix<T>> : Exactly<2> {
  static consort_matrix_args args(const std::size_t *n, std::size_t) noexcept { return {nullptr, n[0], n[1], 0, sizeof(T)}; }
};
template <class T>
struct Sizes<Block<T>> : Exactly<3> {
  static consort_block_args args(const std::size_t *n, std::size_t) noexcept {
    return {nullptr, n[0], n[1], n[2], 0, 0, sizeof(T)};
  }
};
template <class T>
struct Sizes<Tensor<T>> : Exactly<4> {
  static consort_tensor_args args(const std::size_t *n, std::size_t) noexcept {
    return {nullptr, n[0], n[1], n[2], n[3], 0, 0, 0, sizeof(T)};
  }
};
template <class T>
struct Sizes<Ndim<T>> {
  static constexpr bool fit(std::size_t n) noexcept { return n >= 1 && n <= CONSORT_NDIM_MAX; }
  static consort_ndim_args args(const std::size_t *n, std::size_t dims) noexcept {
    consort_ndim_args a{nullptr, dims, {}, {}, sizeof(T)};
    for (std::size_t d = 0; d < dims; ++d) a.n[d] = n[d];
    return a;
  }
};

}  // namespace detail

// The view of a datum that the application holds: a span, a matrix, or *held for a variable. While it lives,
// tasks that would conflict wait. Release as early as you can; waiting for such a task meanwhile never ends.
template <class V>
class Held : public V {
 public:
  Held(V view, detail::Hold hold) noexcept : V(view), hold_(std::move(hold)) {}
  // Ends the hold before the destructor does. The view is empty from here on.
  void release() noexcept {
    static_cast<V &>(*this) = V();
    hold_.release();
  }

 private:
  detail::Hold hold_;
};
// The value of a variable that the application holds.
template <class T>
class Held<T &> {
 public:
  Held(T &view, detail::Hold hold) noexcept : view_(&view), hold_(std::move(hold)) {}
  T &operator*() const noexcept { return *view_; }  // The value, until release().
  T *operator->() const noexcept { return view_; }  // A member of the value, until release().
  // Ends the hold before the destructor does.
  void release() noexcept {
    view_ = nullptr;
    hold_.release();
  }

 private:
  T *view_;
  detail::Hold hold_;
};
// The turn at a token: no view, only the right.
template <>
class Held<void> {
 public:
  explicit Held(detail::Hold hold) noexcept : hold_(std::move(hold)) {}
  void release() noexcept { hold_.release(); }  // Ends the hold before the destructor does.

 private:
  detail::Hold hold_;
};

// A datum that was asked for ahead of time. A cheap value; it need not be kept.
class Prefetch {
 public:
  Prefetch(const detail::Ref &control, consort_prefetch_id id) noexcept : control_(control), id_(id) {}
  consort_prefetch_id id() const noexcept { return id_; }  // The handle, for the C API.
  // False: too late, it is under way or over.
  bool cancel() const { return detail::check(consort_prefetch_cancel(control_.need(), id_)) == CONSORT_OK; }

 private:
  detail::Ref control_;
  consort_prefetch_id id_;
};

template <class V>
class Parts;
// A registered datum that tasks see as V. A move-only owner: the destructor unregisters it.
template <class V>
class Data {
  using Layout = detail::Layout<V>;
  static_assert(Layout::is_data, "Data<V>: V is std::span<T>, consort::Matrix<T>, Block<T>, Tensor<T>, Ndim<T>, T& or void");

 public:
  using View = V;

  Data() noexcept = default;  // names nothing
  Data(Data &&other) noexcept : control_(std::move(other.control_)), id_(std::exchange(other.id_, consort_data_id{})) {}
  Data &operator=(Data &&other) noexcept {
    if (this != &other) {
      end();
      control_ = std::move(other.control_);
      id_ = std::exchange(other.id_, consort_data_id{});
    }
    return *this;
  }
  Data(const Data &) = delete;  // a handle owns its datum and is not copied: move it, std::move(x), or pass it by reference
  Data &operator=(const Data &) = delete;  // a handle owns its datum and is not copied: move it, std::move(x), or pass it by reference
  // Waits for the tasks that use it; then the memory is the caller's again. In a callback, where nobody may
  // wait, and in a task that uses it, the datum ends when its last task does: keep its memory until then.
  // A failure that poisoned the datum is not told here: Runtime::stop() throws it, unless a wait did before.
  ~Data() { end(); }

  // Takes over a handle that was registered through the C API. That its layout is V's is the caller's word.
  Data(const detail::Ref &control, consort_data_id id) noexcept : control_(control), id_(id) {}

  consort_data_id id() const noexcept { return id_; }  // The handle, for the C API.
  // The runtime that it belongs to: to be compared only.
  const detail::Control *home() const noexcept { return control_.get(); }
  explicit operator bool() const noexcept { return id_.v != 0; }  // Whether it names a datum.

  // Waits for its turn among the tasks, as one of them. Returns the view; tasks that write wait until it is released.
  // Throws Error: E_TIMEOUT where time runs out, or the failure that poisoned the datum.
  Held<typename Layout::Const> read(Timeout timeout = {}) const {
    return enter<typename Layout::Const>(CONSORT_M_R, timeout);
  }
  // As read(), to overwrite all of it: the view's contents are undefined.
  Held<typename Layout::Mutable> write(Timeout timeout = {}) requires(!Layout::is_const) {
    return enter<typename Layout::Mutable>(CONSORT_M_W, timeout);
  }
  // As read(), to read and write.
  Held<typename Layout::Mutable> acquire(Timeout timeout = {}) requires(!Layout::is_const) {
    return enter<typename Layout::Mutable>(CONSORT_M_RW, timeout);
  }

  // How it falls into parts that tasks use side by side: x.plan("blocks", consort_split{4, 0}), or x.plan("blocks", 4). Params
  // are those of the filter (layouts.h); a number stands for a consort_split of so many parts along the first axis. Part is how a
  // part is seen: as V, but for filters that give another layout.
  template <class Part = V, class Params>
  Parts<Part> plan(const char *filter, const Params &params, uint32_t flags = 0) const;
  template <class Part = V>
  Parts<Part> plan(const char *filter, consort_split params, uint32_t flags = 0) const;  // x.plan("blocks", {4, 0})

  // How contributions of redux(x) are made and united: init(V) writes the neutral element, combine(V, const V) adds the
  // second to the first. Both codelets outlive the datum.
  template <class Init, class Combine>
  void set_reduction(const Codelet<Init> &init, const Codelet<Combine> &combine) requires(!Layout::is_const) {
    static_assert(std::is_same_v<Init, void(V)> || std::is_same_v<Init, Untyped>,
                  "init of a reduction takes the datum and nothing else");
    static_assert(std::is_same_v<Combine, void(V, typename Layout::Const)> || std::is_same_v<Combine, Untyped>,
                  "combine of a reduction takes the datum, and a const one that it adds to it");
    consort_runtime *rt = control_.need();
    detail::check(consort_data_set_reduction(rt, id_, init.id(control_), combine.id(control_)));
  }
  // false: from here on its tasks take no order from it; true: as at first.
  void set_ordered(bool ordered) { detail::check(consort_data_set_ordered(control_.need(), id_, ordered)); }
  // Without waiting: f(held) is called when the turn comes, on any thread; it may submit, it must not wait. held is null where it
  // was not granted, and then consort_error() says why; else it is released when f returns, unless f moves it away.
  template <class F>
  void read_later(F f) const { later<typename Layout::Const>(CONSORT_M_R, std::move(f)); }
  // As read_later(), to be overwritten.
  template <class F>
  void write_later(F f) requires(!Layout::is_const) { later<typename Layout::Mutable>(CONSORT_M_W, std::move(f)); }
  // As read_later(), to be read and written.
  template <class F>
  void acquire_later(F f) requires(!Layout::is_const) { later<typename Layout::Mutable>(CONSORT_M_RW, std::move(f)); }

  // Units of class `klass` see the datum as an Other of these sizes, packed (formats.h): x.add_format<Matrix<float>>("cuda", {n, 2},
  // to, from). to(V, Other) makes the Other, from(Other, V) makes the V again; each only reads what it makes the other of. Both
  // outlive the datum. Functions for those units are impl("cuda", ...) of the call, or text: typed ones see V.
  template <class Other, class To, class From>
  void add_format(const char *klass, std::initializer_list<std::size_t> sizes, const Codelet<To> &to, const Codelet<From> &from)
    requires(!Layout::is_const)
  {
    using Sizes = detail::Sizes<Other>;
    static_assert(detail::Layout<Other>::is_data && !detail::Layout<Other>::is_const, "a format is a layout that tasks write");
    static_assert(std::is_same_v<To, void(typename Layout::Const, Other)> || std::is_same_v<To, Untyped>,
                  "the codelet that makes the format reads the datum and writes the format: void(const V, Other)");
    static_assert(std::is_same_v<From, void(typename detail::Layout<Other>::Const, V)> || std::is_same_v<From, Untyped>,
                  "the codelet that makes the datum again reads the format and writes the datum: void(const Other, V)");
    if (!Sizes::fit(sizes.size())) detail::raise(CONSORT_E_INVAL, "add_format: give one size for each dimension of the format");
    const auto args = Sizes::args(sizes.begin(), sizes.size());
    consort_runtime *rt = control_.need();
    consort_format_desc d = CONSORT_FORMAT_INIT;
    d.klass = klass;
    d.interface = detail::Layout<Other>::interface;
    d.args = &args;
    d.args_bytes = sizeof args;
    d.to = to.id(control_);
    d.from = from.id(control_);
    detail::check(consort_data_add_format(rt, id_, &d));
  }

  // Drops the contents, in order with the tasks. Cures a poisoned datum.
  void invalidate() { detail::check(consort_invalidate(control_.need(), id_)); }

  // In the memories of the machine (memory.h): they change when bytes move, never what a task sees. All wait for nothing.
  Prefetch prefetch(uint32_t space, int32_t priority = 0, uint32_t flags = 0) const {
    consort_prefetch_id wish{};
    detail::check(consort_prefetch(control_.need(), id_, space, priority, flags, &wish));
    return {control_, wish};
  }
  // Says that no task will use it soon: it goes first where room is needed.
  void wont_use() const { detail::check(consort_wont_use(control_.need(), id_)); }
  // Drops its replica in that space, saved elsewhere first if it is the only one.
  void evict(uint32_t space) const { detail::check(consort_evict(control_.need(), id_, space)); }
  // From here on each write is copied to these spaces, too; an empty list ends it.
  void write_through(std::initializer_list<uint32_t> spaces) const {
    uint64_t bits = 0;
    for (const uint32_t s : spaces) {
      if (s > 63) detail::raise(CONSORT_E_INVAL, "write_through: a space above 63 does not exist");
      bits |= uint64_t{1} << s;
    }
    detail::check(consort_data_set_write_through(control_.need(), id_, bits));
  }
  // CONSORT_IN_* of that space, at this moment.
  uint32_t in(uint32_t space) const {
    uint32_t bits = 0;
    detail::check(consort_data_in(control_.need(), id_, space, &bits));
    return bits;
  }
  // Whether its contents are in that space, at this moment.
  bool valid_in(uint32_t space) const { return in(space) & CONSORT_IN_VALID; }
  // Throws the first failure that poisoned it, or that kept its contents from coming home; it is unregistered all the same.
  void unregister() {
    consort_runtime *rt = control_.need();
    const consort_status status = consort_unregister(rt, id_);
    if (status >= 0) return void(id_ = {});
    const Error failed(status, consort_error());
    uint32_t bits = 0;
    if (consort_data_in(rt, id_, 0, &bits) == CONSORT_E_STALE) id_ = {};  // else it was refused: the handle stays good
    throw failed;
  }
  // The handle dies now, the datum when its last task is done. Waits for nothing.
  void unregister_later() {
    detail::check(consort_unregister_later(control_.need(), id_));
    id_ = {};
  }

 private:
  template <class W>
  Held<W> enter(uint32_t mode, Timeout timeout) const {
    consort_hold hold{};
    detail::check(consort_acquire(control_.need(), id_, mode, timeout.ns(), &hold));
    return made<W>(control_, hold);
  }
  template <class W>
  static Held<W> made(const detail::Ref &control, const consort_hold &hold) {
    detail::Hold right(control, hold);
    if constexpr (std::is_void_v<W>) return Held<W>(std::move(right));
    else {
      if (detail::Layout<W>::element(hold.view) != detail::Layout<W>::bytes) [[unlikely]]
        detail::raise(CONSORT_E_INVAL,
                      "the datum's elements are not of the size that this handle's type says; adopt it with the type "
                      "it was registered with");
      return Held<W>(detail::Layout<W>::view(hold.view), std::move(right));
    }
  }
  template <class W, class F>
  void later(uint32_t mode, F f) const {
    struct Turn {
      detail::Ref control;
      F f;
    };
    auto turn = std::make_unique<Turn>(Turn{control_, std::move(f)});
    const auto granted = [](void *arg, consort_status, const consort_hold *hold) {
      const std::unique_ptr<Turn> mine(static_cast<Turn *>(arg));
      try {
        if (!hold) return mine->f(static_cast<Held<W> *>(nullptr));
        Held<W> held = made<W>(mine->control, *hold);
        mine->f(&held);
      } catch (...) {  // nobody to tell
      }
    };
    detail::check(consort_acquire_later(control_.need(), id_, mode, granted, turn.get()));
    (void)turn.release();
  }
  template <class Part>
  Parts<Part> make_plan(const char *filter, const void *params, uint64_t bytes, uint32_t flags) const;
  void end() noexcept {
    consort_runtime *rt = control_.live();
    if (id_.v && rt && consort_unregister_wait(rt, id_, CONSORT_WAIT_KEEP_FAILURE) == CONSORT_E_BUSY)
      consort_unregister_later(rt, id_);
    id_ = {};
  }

  detail::Ref control_;
  consort_data_id id_{};
};

using Token = Data<void>;

// The parts of one plan of a datum, each a datum that tasks use as V (partition.h). Owns the plan: with it the parts'
// handles die, and the datum has it all again, in order with the tasks. Move-only; waits for nothing.
template <class V>
class Parts {
 public:
  Parts() noexcept = default;
  Parts(const Parts &) = delete;  // it owns its plan and is not copied: move it, std::move(parts), or pass it by reference
  Parts &operator=(const Parts &) = delete;
  Parts(const detail::Ref &control, consort_plan_id plan, std::string name = {})
      : control_(control), plan_(plan), name_(std::move(name)) {
    const auto n = consort_plan_parts(control_.need(), plan_, nullptr, 0);
    if (n < 0) detail::raise(static_cast<consort_status>(n));
    std::vector<consort_data_id> ids(static_cast<std::size_t>(n));
    consort_plan_parts(control_.need(), plan_, ids.data(), static_cast<uint32_t>(n));
    for (const consort_data_id id : ids) parts_.emplace_back(control_, id);
  }
  Parts(Parts &&other) noexcept
      : control_(std::move(other.control_)),
        plan_(std::exchange(other.plan_, consort_plan_id{})),
        name_(std::move(other.name_)),
        parts_(std::move(other.parts_)) {}
  Parts &operator=(Parts &&other) noexcept {
    if (this != &other) {
      destroy();
      control_ = std::move(other.control_);
      plan_ = std::exchange(other.plan_, consort_plan_id{});
      name_ = std::move(other.name_);
      parts_ = std::move(other.parts_);
    }
    return *this;
  }
  ~Parts() { destroy(); }

  consort_plan_id id() const noexcept { return plan_; }  // The handle of the plan, for the C API.
  std::size_t size() const noexcept { return parts_.size(); }  // How many parts.
  // Part number i, from 0. Throws Error (E_INVAL) where there is none.
  const Data<V> &operator[](std::size_t i) const {
    if (i >= parts_.size()) [[unlikely]] refuse(i);
    return parts_[i];
  }
  auto begin() const noexcept { return parts_.begin(); }  // The first part.
  auto end() const noexcept { return parts_.end(); }  // Behind the last part.

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void refuse(std::size_t i) const {
    detail::raise(CONSORT_E_INVAL, ("part " + std::to_string(i) + " of the plan \"" + name_ + "\" does not exist: there are " +
                                    std::to_string(parts_.size()) + ", numbered from 0").c_str());
  }
  void destroy() noexcept {
    consort_runtime *rt = control_.live();
    if (plan_.v && rt) consort_plan_destroy(rt, plan_);  // the handles are stale from here on
    plan_ = {};
    parts_.clear();
  }
  detail::Ref control_;
  consort_plan_id plan_{};
  std::string name_;  // of the filter
  std::vector<Data<V>> parts_;
};
template <class V>
template <class Part, class Params>
Parts<Part> Data<V>::plan(const char *filter, const Params &params, uint32_t flags) const {
  if constexpr (std::is_integral_v<Params>) {
    if (!std::in_range<uint32_t>(params))
      detail::raise(CONSORT_E_INVAL, ("plan(\"" + std::string(filter) + "\", " + std::to_string(params) +
                                      "): a number of parts is from 1 to 4294967295").c_str());
    return plan<Part>(filter, consort_split{static_cast<uint32_t>(params), 0}, flags);
  } else {
    static_assert(std::is_class_v<Params> && std::is_trivially_copyable_v<Params>,
                  "plan(): give the filter's parameters as their struct of consort/layouts.h (consort_split{4, 0}), or a number of parts");
    return make_plan<Part>(filter, &params, sizeof params, flags);
  }
}
template <class V>
template <class Part>
Parts<Part> Data<V>::plan(const char *filter, consort_split params, uint32_t flags) const {
  return make_plan<Part>(filter, &params, sizeof params, flags);
}
template <class V>
template <class Part>
Parts<Part> Data<V>::make_plan(const char *filter, const void *params, uint64_t bytes, uint32_t flags) const {
  consort_plan_desc d = CONSORT_PLAN_INIT;
  d.flags = flags;
  d.filter = filter;
  d.params = params;
  d.params_bytes = bytes;
  consort_plan_id id{};
  detail::check(consort_plan_create(control_.need(), id_, &d, &id));
  return Parts<Part>(control_, id, filter);
}

namespace detail {
template <class T>
concept Datum = requires(const T &x) { []<class V>(const Data<V> &) {}(x); };
template <class T>
inline constexpr bool never = false;
struct NoUse {};  // of something that is no datum; refused where it was made
}  // namespace detail

// How a submission names a datum: r(x), w(x), rw(x), scratch(x); commute(x): as rw(x), one at a time, in any order;
// redux(x): adds to a copy of its own, see set_reduction(); redux_fixed(x): with the same bits every time.
template <class V, uint32_t Mode>
struct Use {
  consort_data_id data;
  const detail::Control *home;
};
// The task reads x.
template <class V>
Use<V, CONSORT_M_R> r(const Data<V> &x) noexcept { return {x.id(), x.home()}; }
// The task overwrites x: its contents before are not brought.
template <class V>
Use<V, CONSORT_M_W> w(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "w(x): x was registered as const, nobody may write it");
  return {x.id(), x.home()};
}
// The task reads and writes x.
template <class V>
Use<V, CONSORT_M_RW> rw(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "rw(x): x was registered as const, nobody may write it");
  return {x.id(), x.home()};
}
// The task gets memory of x's size for itself alone: undefined at its start, dropped at its end.
template <class V>
Use<V, CONSORT_M_SCRATCH> scratch(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "scratch(x): x was registered as const, nobody may write it");
  return {x.id(), x.home()};
}
// The task reads and writes x; tasks that say so run one at a time, in any order.
template <class V>
Use<V, CONSORT_M_RW | CONSORT_M_COMMUTE> commute(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "commute(x): x was registered as const, nobody may write it");
  return {x.id(), x.home()};
}
// The task adds to a copy of its own; the copies are united before the next task that reads x.
template <class V>
Use<V, CONSORT_M_REDUX> redux(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "redux(x): x was registered as const, nobody may write it");
  return {x.id(), x.home()};
}
// As redux(), united in one fixed order: the same bits every time.
template <class V>
Use<V, CONSORT_M_REDUX | CONSORT_M_FIXED_TREE> redux_fixed(const Data<V> &x) noexcept {
  static_assert(!detail::Layout<V>::is_const, "redux_fixed(x): x was registered as const, nobody may write it");
  return {x.id(), x.home()};
}

// What is no datum: a vector, a pointer, a number.
#define CONSORT_NEEDS_A_DATUM(name)                                                                              \
  template <class T>                                                                                             \
    requires(!detail::Datum<T>)                                                                                  \
  detail::NoUse name(const T &) noexcept {                                                                        \
    static_assert(detail::never<T>, #name "(x): x is no datum; register it first, auto x = rt.vector(v), and give " #name "(x)"); \
    return {};                                                                                                   \
  }
CONSORT_NEEDS_A_DATUM(r)
CONSORT_NEEDS_A_DATUM(w)
CONSORT_NEEDS_A_DATUM(rw)
CONSORT_NEEDS_A_DATUM(scratch)
CONSORT_NEEDS_A_DATUM(commute)
CONSORT_NEEDS_A_DATUM(redux)
CONSORT_NEEDS_A_DATUM(redux_fixed)
#undef CONSORT_NEEDS_A_DATUM

}  // namespace consort::inline face
#endif
