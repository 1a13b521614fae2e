// consort/cpp/parts.hpp — Parts<V>: the parts of one plan of a datum.
//
// Part of consort.hpp; include that. A move-only owner: with it the parts' handles end. It waits for nothing.
#ifndef CONSORT_CPP_PARTS_HPP
#define CONSORT_CPP_PARTS_HPP
#include <consort/cpp/data.hpp>
#include <consort/cpp/filters.hpp>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace consort::inline face {

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
template <bool Const, class F>
auto Data<V>::make_parts(const F &filter) const {
  static_assert(detail::Filter<F>, "partition() takes a filter, consort::blocks{.parts = 4} or the like; or the name of one of your own, "
                                   "and its parameters");
  if constexpr (detail::Filter<F>) {
    using Seen = typename F::template Part<V>;
    static_assert(!std::is_void_v<Seen>, "the datum's layout has no such filter: rows and cols are a matrix's, tiles want two axes, "
                                         "grid more, and a variable is not divided");
    if constexpr (!std::is_void_v<Seen>) {
      using Part = std::conditional_t<Const, typename detail::Layout<Seen>::Const, Seen>;
      const auto params = [&] {
        if constexpr (detail::FilterOfLayout<F, V>) return filter.template params<V>();
        else return filter.params();
      }();
      const uint32_t flags = Const ? CONSORT_PLAN_READ_ONLY : 0;
      if constexpr (requires { params.size(); })
        return make_plan<Part>(F::filter, params.empty() ? nullptr : params.data(), params.size() * sizeof *params.data(), flags);
      else return make_plan<Part>(F::filter, &params, sizeof params, flags);
    }
  }
}
template <class V>
template <class F>
  requires(!std::is_convertible_v<const F &, const char *>)
auto Data<V>::partition(const F &filter) const {
  return make_parts<false>(filter);
}
template <class V>
template <class F>
  requires(!std::is_convertible_v<const F &, const char *>)
auto Data<V>::partition(const F &filter, ReadOnly) const {
  return make_parts<true>(filter);
}
template <class V>
template <class Part>
Parts<Part> Data<V>::partition(const char *filter) const {
  return make_plan<Part>(filter, nullptr, 0, 0);
}
template <class V>
template <class Part, class Params>
Parts<Part> Data<V>::partition(const char *filter, const Params &params) const {
  static_assert(!std::is_arithmetic_v<Params>, "partition(): parameters are a struct; a number of parts is consort::blocks{.parts = 4}");
  static_assert(std::is_arithmetic_v<Params> || (std::is_class_v<Params> && std::is_trivially_copyable_v<Params>),
                "partition(): the parameters of a filter are a struct that is copied as bytes");
  return make_plan<Part>(filter, &params, sizeof params, 0);
}
template <class V>
template <class Part, class Params>
Parts<typename detail::Layout<Part>::Const> Data<V>::partition(const char *filter, const Params &params, ReadOnly) const {
  static_assert(std::is_class_v<Params> && std::is_trivially_copyable_v<Params>,
                "partition(): the parameters of a filter are a struct that is copied as bytes");
  return make_plan<typename detail::Layout<Part>::Const>(filter, &params, sizeof params, CONSORT_PLAN_READ_ONLY);
}
template <class V>
template <class Part, class Params>
Parts<Part> Data<V>::plan(const char *filter, const Params &params, uint32_t flags) const {
  if constexpr (std::is_integral_v<Params>) {
    if (!std::in_range<uint32_t>(params))
      detail::raise(CONSORT_E_INVAL, ("plan(\"" + std::string(filter) + "\", " + std::to_string(params) +
                                      "): a number of parts is from 1 to 4294967295").c_str());
    const consort_split split{static_cast<uint32_t>(params), 0};
    return make_plan<Part>(filter, &split, sizeof split, flags);
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

}  // namespace consort::inline face
#endif
