// consort/cpp/data.hpp — Data<V>: a registered datum that a codelet sees as V.
//
// Part of consort.hpp; include that. A move-only owner: it unregisters in its destructor, which does not throw. Any thread may use a Data; one thread at a time moves or ends it.
#ifndef CONSORT_CPP_DATA_HPP
#define CONSORT_CPP_DATA_HPP
#include <consort/cpp/error.hpp>
#include <consort/cpp/flags.hpp>
#include <consort/cpp/held.hpp>
#include <consort/cpp/layout.hpp>

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
  // Waits for the tasks that use it; then the memory is the caller's again. In a callback, which may not wait, and in a
  // task that uses it, the datum ends with its last task: keep its memory until then. A failure that poisoned the datum
  // is not reported here: Runtime::stop() throws it, unless a wait did before.
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

  // Divides it into parts that tasks use side by side: x.partition(blocks{.parts = 4}), tiles, and the other filters of
  // filters.hpp. Waits for nothing: the datum may have tasks in flight. Throws Error (E_INVAL) where the parameters make no parts.
  template <class F>
    requires(!std::is_convertible_v<const F &, const char *>)
  auto partition(const F &filter) const;
  // As partition(filter); tasks may read the parts and not write them. Plans that read alone may share bytes with others.
  template <class F>
    requires(!std::is_convertible_v<const F &, const char *>)
  auto partition(const F &filter, ReadOnly) const;
  // By a filter of the datum's interface that has no struct: its name, and its parameters as a struct that is copied as bytes. Part is
  // how a part is seen: as V, but for filters that give another layout.
  template <class Part = V>
  Parts<Part> partition(const char *filter) const;
  template <class Part = V, class Params>
  Parts<Part> partition(const char *filter, const Params &params) const;
  template <class Part = V, class Params>
  Parts<typename detail::Layout<Part>::Const> partition(const char *filter, const Params &params, ReadOnly) const;
  // As partition(), under its former name. A number stands for a consort_split of so many parts along the first axis.
  template <class Part = V, class Params>
  [[deprecated("x.partition(consort::blocks{.parts = 4}); by the name of a filter: x.partition(\"name\", params)")]]
  Parts<Part> plan(const char *filter, const Params &params, uint32_t flags = 0) const;
  template <class Part = V>
  [[deprecated("x.partition(consort::blocks{.parts = 4}); by the name of a filter: x.partition(\"name\", params)")]]
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
  Prefetch prefetch(uint32_t space, int32_t priority = 0, Flags<Bring> what = {}) const {
    consort_prefetch_id wish{};
    detail::check(consort_prefetch(control_.need(), id_, space, priority, what.bits(), &wish));
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
  // What it has in that space, at this moment.
  Flags<Replica> replica(uint32_t space) const {
    uint32_t bits = 0;
    detail::check(consort_data_in(control_.need(), id_, space, &bits));
    return Flags<Replica>::of(bits);
  }
  // Older form of replica().
  [[deprecated("ask replica(space).has(consort::Replica::valid)")]] uint32_t in(uint32_t space) const { return replica(space).bits(); }
  // Whether its contents are in that space, at this moment.
  bool valid_in(uint32_t space) const { return replica(space).has(Replica::valid); }
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
      } catch (...) {  // a destructor has no caller to report to
      }
    };
    detail::check(consort_acquire_later(control_.need(), id_, mode, granted, turn.get()));
    (void)turn.release();
  }
  template <class Part>
  Parts<Part> make_plan(const char *filter, const void *params, uint64_t bytes, uint32_t flags) const;
  template <bool Const, class F>
  auto make_parts(const F &filter) const;
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

}  // namespace consort::inline face
#endif
