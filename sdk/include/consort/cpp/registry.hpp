// consort/cpp/registry.hpp — Registry: the part of a Runtime that registers data.
//
// Part of consort.hpp; include that: consort::Runtime has all of this. Any thread may call anything.
#ifndef CONSORT_CPP_REGISTRY_HPP
#define CONSORT_CPP_REGISTRY_HPP
#include <consort/cpp/data.hpp>
#include <consort/cpp/task.hpp>

#include <initializer_list>
#include <span>
#include <type_traits>

namespace consort::inline face {

namespace detail {

// What a Runtime has for data.
class Registry {
 public:
  // -- data: registered in place, or without a home, allocated where first written. The name is for errors --

  // Registers the elements of a contiguous range in place. With a size instead: no home.
  template <class Range>
    requires requires(Range &&range) { std::span(std::forward<Range>(range)); }
  auto vector(Range &&range, const char *name = nullptr) {
    const std::span s(std::forward<Range>(range));
    return add_vector(s.data(), s.size(), name);
  }
  template <class T>
  Data<std::span<T>> vector(std::size_t n, const char *name = nullptr) {
    return add_vector(static_cast<T *>(nullptr), n, name);
  }
  // Registers a matrix in place: nx elements a line, ny lines, ld from line to line. Without an address: no home.
  template <class T>
  Data<Matrix<T>> matrix(Matrix<T> m, const char *name = nullptr) {
    return add_matrix(m.data(), m.nx(), m.ny(), m.ld(), name);
  }
  template <class T>
  Data<Matrix<T>> matrix(T *data, std::size_t nx, std::size_t ny, std::size_t ld = 0, const char *name = nullptr) {
    return add_matrix(data, nx, ny, ld, name);
  }
  template <class T>
  Data<Matrix<T>> matrix(std::size_t nx, std::size_t ny, const char *name = nullptr) {
    return add_matrix(static_cast<T *>(nullptr), nx, ny, 0, name);
  }
  // Registers a box of nx x ny x nz elements in place; without an address: no home.
  template <class T>
  Data<Block<T>> block(Block<T> b, const char *name = nullptr) {
    const consort_block_args a{detail::Element<T>::address(b.data()), b.nx(), b.ny(), b.nz(), b.ldy(), b.ldz(),
                               sizeof(T)};
    return add<Block<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<Block<T>> block(T *data, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t ldy = 0,
                       std::size_t ldz = 0, const char *name = nullptr) {
    return block(Block<T>(data, nx, ny, nz, ldy, ldz), name);
  }
  template <class T>
  Data<Block<T>> block(std::size_t nx, std::size_t ny, std::size_t nz, const char *name = nullptr) {
    return block(Block<T>(nullptr, nx, ny, nz), name);
  }
  // Registers nt boxes in place; without an address: no home.
  template <class T>
  Data<Tensor<T>> tensor(Tensor<T> t, const char *name = nullptr) {
    const consort_tensor_args a{detail::Element<T>::address(t.data()), t.nx(), t.ny(), t.nz(), t.nt(), t.ldy(),
                                t.ldz(), t.ldt(), sizeof(T)};
    return add<Tensor<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<Tensor<T>> tensor(T *data, std::size_t nx, std::size_t ny, std::size_t nz, std::size_t nt,
                         const char *name = nullptr) {
    return tensor(Tensor<T>(data, nx, ny, nz, nt), name);
  }
  template <class T>
  Data<Tensor<T>> tensor(std::size_t nx, std::size_t ny, std::size_t nz, std::size_t nt, const char *name = nullptr) {
    return tensor(Tensor<T>(nullptr, nx, ny, nz, nt), name);
  }
  // Registers one to eight dimensions in place; without an address: no home.
  template <class T>
  Data<Ndim<T>> ndim(Ndim<T> x, const char *name = nullptr) {
    consort_ndim_args a{detail::Element<T>::address(x.data()), x.dims(), {}, {}, sizeof(T)};
    for (std::size_t d = 0; d < x.sizes().size(); ++d) a.n[d] = x.n(d), a.step[d] = x.step(d);
    return add<Ndim<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<Ndim<T>> ndim(T *data, std::initializer_list<std::size_t> n, std::initializer_list<std::size_t> step = {},
                     const char *name = nullptr) {
    return ndim(Ndim<T>(data, n, step), name);
  }
  template <class T>
  Data<Ndim<T>> ndim(std::initializer_list<std::size_t> n, const char *name = nullptr) {
    return ndim(Ndim<T>(nullptr, n), name);
  }
  // Registers one value in place, to be read and written, or read alone if it is const; without a value: no home.
  template <class T>
    requires(!std::is_const_v<T>)
  Data<T &> variable(T &value, const char *name = nullptr) { return add_variable<T>(&value, name); }
  template <class T>
  Data<const T &> variable(const T &value, const char *name = nullptr) { return add_variable<const T>(&value, name); }
  template <class T>
  Data<T &> variable(const char *name = nullptr) { return add_variable<T>(nullptr, name); }
  // Of memory that the application has in another space than the host's, at the address that the space's driver knows (memory.h):
  // rt.register_in<std::span<float>>(space, buffer, {n}). Packed; what has gaps is registered through the C API, and adopted.
  template <class V>
  Data<V> register_in(uint32_t space, void *address, std::initializer_list<std::size_t> sizes, const char *name = nullptr) {
    static_assert(detail::Layout<V>::is_data, "register_in<V>(): V is std::span<T>, consort::Matrix<T>, Block<T>, Tensor<T>, Ndim<T> or T&");
    if (!detail::Sizes<V>::fit(sizes.size())) detail::raise(CONSORT_E_INVAL, "register_in: give one size for each dimension of the datum");
    auto args = detail::Sizes<V>::args(sizes.begin(), sizes.size());
    args.ptr = address;
    const consort_data_desc d{sizeof d, 0, detail::Layout<V>::interface, &args, sizeof args, name};
    consort_data_id id{};
    detail::check(consort_register_in(control_.need(), &d, space, &id));
    return Data<V>(control_, id);
  }
  // A datum without contents, which only orders the tasks that name it.
  Token token(const char *name = nullptr) { return add<void>(nullptr, 0, name); }
  // Of the same layout and sizes, without a home.
  template <class V>
  Data<V> like(const Data<V> &other, const char *name = nullptr) {
    consort_data_id id{};
    detail::check(consort_register_like(control_.need(), other.id(), name, &id));
    return Data<V>(control_, id);
  }
  // A task that copies the contents of src.
  template <class V, class W>
    requires(std::is_same_v<typename detail::Layout<V>::Const, typename detail::Layout<W>::Const>)
  Task copy(Data<V> &dst, const Data<W> &src, InGroup group = {}) {
    static_assert(!detail::Layout<V>::is_const, "copy(): the destination was registered as const: it cannot be written");
    consort_task_id id{};
    consort_runtime *rt = control_.need();
    detail::check(consort_data_copy(rt, dst.id(), src.id(), group.id(), &id));
    return {rt, id};
  }
  // Owns a datum that was registered through the C API. That its layout is V's is the caller's word.
  template <class V>
  Data<V> adopt(consort_data_id registered) {
    return Data<V>(control_, registered);
  }
  // Returns the datum registered at this address, by any owner; null: none. A linear search: for debugging and glue.
  consort_data_id find_data(const void *address) const {
    consort_data_id id{};
    const consort_status status = consort_find_data(control_.need(), address, &id);
    if (status != CONSORT_E_INVAL || !address) detail::check(status);
    return id;
  }

 protected:
  Registry() noexcept = default;
  Registry(Registry &&) noexcept = default;
  Registry &operator=(Registry &&) noexcept = default;
  ~Registry() = default;

  Ref control_;

 private:
  template <class T>
  Data<std::span<T>> add_vector(T *data, std::size_t n, const char *name) {
    const consort_vector_args a{detail::Element<T>::address(data), n, sizeof(T)};
    return add<std::span<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<Matrix<T>> add_matrix(T *data, std::size_t nx, std::size_t ny, std::size_t ld, const char *name) {
    const consort_matrix_args a{detail::Element<T>::address(data), nx, ny, ld, sizeof(T)};
    return add<Matrix<T>>(&a, sizeof a, name);
  }
  template <class T>
  Data<T &> add_variable(T *value, const char *name) {
    const consort_variable_args a{detail::Element<T>::address(value), sizeof(T)};
    return add<T &>(&a, sizeof a, name);
  }
  template <class V>
  Data<V> add(const void *args, uint64_t bytes, const char *name) {
    const consort_data_desc d{sizeof d, 0, detail::Layout<V>::interface, args, bytes, name};
    consort_data_id id{};
    detail::check(consort_register(control_.need(), &d, &id));
    return Data<V>(control_, id);
  }
};

}  // namespace detail

}  // namespace consort::inline face
#endif
