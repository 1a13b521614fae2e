// consort/cpp/kernel.hpp — implementations that are portable kernels: cuda_source(text, "entry"), opencl_file(path, "entry").
//
// Part of consort.hpp; include that. Text or a binary that the driver of a class compiles or loads, an entry, and a Launch: over what
// it runs and what it is given. Arguments are named by their place in a submission. What does not fit the codelet's parameters is
// said where the codelet is first used, by an Error (E_INVAL).
#ifndef CONSORT_CPP_KERNEL_HPP
#define CONSORT_CPP_KERNEL_HPP
#include <consort/cpp/codelet.hpp>

#include <cstdarg>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace consort::inline face {

namespace detail {
[[gnu::format(printf, 1, 2), gnu::noinline]] inline std::string say(const char *format, ...) {
  char text[400];
  std::va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return text;
}
}  // namespace detail

// An argument of a kernel: all that a datum's layout gives, or one thing of it; or a value. See arg().
struct Arg {
  enum class Part : uint8_t { all, address, size, step };
  int index = 0;
  Part part = Part::all;
  unsigned dim = 0;

  constexpr Arg ptr() const noexcept { return {index, Part::address, 0}; }                // The address of a datum.
  constexpr Arg size(unsigned d) const noexcept { return {index, Part::size, d}; }        // Its elements along dimension d, from 0.
  constexpr Arg step(unsigned d) const noexcept { return {index, Part::step, d}; }        // Elements from one to the next along d, from 1.
};
// What a submission gives in place `i`, from 0: data and values count alike, tokens do not count.
constexpr Arg arg(int i) noexcept { return {i}; }

// Over what a kernel runs. Without a word: a work item for each element of the first datum.
class Grid {
 public:
  using Range = consort_status(void *user, const consort_call *call, consort_range *io);
  constexpr Grid() noexcept = default;
  // So many blocks along each direction.
  constexpr Grid(uint64_t x, uint64_t y = 1, uint64_t z = 1) noexcept : blocks_{x, y, z} {}
  // As a function says for each task (consort_portable.range): quick, and calling nothing of the runtime.
  constexpr Grid(Range *range, void *user = nullptr) noexcept : range_(range), user_(user) {}
  template <class F>
    requires(!std::is_integral_v<F> && std::is_convertible_v<F, Range *>)
  constexpr Grid(F f) noexcept : range_(f) {}

 private:
  friend constexpr Grid over(Arg, Range *, void *) noexcept;
  friend struct KernelLaunch;
  int over_ = -1;
  uint64_t blocks_[3] = {0, 0, 0};
  Range *range_ = nullptr;
  void *user_ = nullptr;
};
// A work item for each element of that datum; a function may change it.
constexpr Grid over(Arg datum, Grid::Range *range = nullptr, void *user = nullptr) noexcept {
  Grid g;
  g.over_ = datum.index, g.range_ = range, g.user_ = user;
  return g;
}

// How a kernel is launched: cuda_source(text, "axpy", {.grid = over(arg(1)), .block = {256}, .args = {arg(0), arg(1).ptr()}}).
struct Launch {
  Grid grid = {};
  uint32_t block[3] = {1, 1, 1};   // work items of a block; 0 counts as 1, and 1 x 1 x 1 lets the device group them
  uint32_t shared_bytes = 0;       // memory that a block shares
  std::vector<Arg> args = {};      // what the kernel takes, in its order; empty: all, in the order of the submission
};

// A portable kernel: text that the driver of a class compiles or loads, and how it is launched (consort_portable).
struct Kernel {
  std::string format, text, entry;       // "cl", "spirv", "ptx" …; "file": text is a path
  uint32_t over = 0;                     // a work item for each element of this one of the task's data
  std::vector<consort_pass> args = {};   // what it takes, in its order; empty: of all data what their layouts give, then the values
  uint32_t block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  consort_status (*range)(void *user, const consort_call *call, consort_range *io) = nullptr;
  void *user = nullptr;
};
constexpr consort_pass pass(uint32_t datum, uint32_t part = 0) { return {datum, part}; }   // part 0: its address
// The task's own value of that number, from 0.
constexpr consort_pass pass_value(uint32_t number) { return {CONSORT_NONE, number}; }


// What an implementation keeps that is a kernel with a Launch.
struct KernelLaunch {
  consort_portable how = CONSORT_PORTABLE_INIT;  // first: consort_impl.user points to it
  Launch launch;
  std::vector<consort_pass> passes;
  std::string wrong;  // with the text or the path

  // Sets the grid that the launch gives in numbers.
  static consort_status fixed(void *user, const consort_call *, consort_range *io) {
    const auto &k = *static_cast<const KernelLaunch *>(user);
    for (int i = 0; i < 3; ++i) io->grid[i] = k.launch.grid.blocks_[i];
    return CONSORT_OK;
  }
  // Answers what is wrong, or nothing. n CONSORT_NONE: of a codelet whose parameters are not known.
  std::string fit(const detail::Parameter *p, uint32_t n) {
    if (!wrong.empty()) return wrong;
    const Grid &g = launch.grid;
    for (int i = 0; i < 3; ++i) how.block[i] = launch.block[i] ? launch.block[i] : 1;
    how.shared_bytes = launch.shared_bytes;
    how.range = g.range_ ? g.range_ : g.blocks_[0] ? fixed : nullptr;
    how.user = g.range_ ? g.user_ : this;
    if (n == CONSORT_NONE) {
      if (g.over_ < 0 && launch.args.empty()) return {};
      return "its kernel names arguments, and no implementation says what its parameters are: give its signature, as in "
             "consort::Codelet<void(float, std::span<float>)>";
    }
    if (g.over_ >= 0) {
      if (static_cast<uint32_t>(g.over_) >= n || p[g.over_].kind != detail::Kind::data) return detail::say("grid = over(arg(%d)): %s", g.over_, no_datum(p, n, g.over_).c_str());
      how.over = p[g.over_].rank;
    }
    std::vector<Arg> all = launch.args;
    if (all.empty()) {
      bool data_first = true;
      for (uint32_t i = 0; i < n; ++i) {
        data_first &= i == 0 || p[i].kind == detail::Kind::argument || p[i - 1].kind == detail::Kind::data;
        all.push_back({static_cast<int>(i)});
      }
      if (data_first) return {};  // as it is without a list
    }
    for (const Arg &a : all)
      if (std::string no = add(a, p, n); !no.empty()) return no;
    how.args = passes.data();
    how.nargs = static_cast<uint32_t>(passes.size());
    return {};
  }

 private:
  static std::string no_datum(const detail::Parameter *p, uint32_t n, int i) {
    if (i < 0 || static_cast<uint32_t>(i) >= n) return detail::say("a submission gives %u data and values, numbered from 0", n);
    return p[i].kind == detail::Kind::data ? "" : "that is a value, not a datum";
  }
  std::string add(const Arg &a, const detail::Parameter *p, uint32_t n) {
    const int at = a.index;
    if (at < 0 || static_cast<uint32_t>(at) >= n) return detail::say("arg(%d): %s", at, no_datum(p, n, at).c_str());
    const detail::Parameter &q = p[at];
    const bool datum = q.kind == detail::Kind::data;
    if (a.part == Arg::Part::all) return passes.push_back(datum ? consort_pass{q.rank, CONSORT_NONE} : consort_pass{CONSORT_NONE, q.rank}), "";
    if (a.part == Arg::Part::address && datum) return passes.push_back({q.rank, 0}), "";
    if (a.part == Arg::Part::address) return detail::say("arg(%d).ptr(): that is a value, not a datum", at);
    const char *const what = a.part == Arg::Part::size ? "size" : "step";
    if (!datum) return detail::say("arg(%d).%s(%u): that is a value, not a datum", at, what, a.dim);
    if (a.dim >= q.dims) return detail::say("arg(%d).%s(%u): the datum has %u dimensions, numbered from 0", at, what, a.dim, q.dims);
    if (a.part == Arg::Part::size) return passes.push_back({q.rank, (q.ndim ? 2 : 1) + a.dim}), "";
    if (q.ndim) return detail::say("arg(%d).step(%u): where the steps of an ndim begin shows when it runs; take all of it, arg(%d)", at, a.dim, at);
    if (a.dim == 0) return detail::say("arg(%d).step(0): the elements of a line are side by side, and no step is given", at);
    return passes.push_back({q.rank, q.dims + a.dim}), "";
  }
};

namespace detail {

inline Impl<Portable> make_kernel(const char *klass, const char *format, std::string text, std::string entry, Launch launch, std::string wrong) {
  Impl<Portable> out;
  out.any.klass = klass;
  out.any.format = format;
  out.any.text = std::move(text);
  out.any.entry = std::move(entry);
  auto *kept = new KernelLaunch;
  kept->launch = std::move(launch);
  kept->wrong = std::move(wrong);
  out.any.user = kept;
  out.any.drop = [](void *p) { delete static_cast<KernelLaunch *>(p); };
  out.any.bind = [](AnyImpl &i, const Parameter *p, uint32_t n) { return static_cast<KernelLaunch *>(i.user)->fit(p, n); };
  return out;
}
inline Impl<Portable> kernel_source(const char *klass, const char *format, std::string text, std::string entry, Launch launch) {
  std::string wrong;
  if (text.find('{') == text.npos)
    wrong = say("%s_source() takes the text of a kernel, and this has no body: \"%.60s\"; the path of a file goes to %s_file()", klass, text.c_str(), klass);
  return make_kernel(klass, format, std::move(text), std::move(entry), std::move(launch), std::move(wrong));
}
inline Impl<Portable> kernel_file(const char *klass, std::string path, std::string entry, Launch launch) {
  std::string wrong;
  if (path.empty() || path.find('\n') != path.npos)
    wrong = say("%s_file() takes the path of a file; the text of a kernel goes to %s_source()", klass, klass);
  return make_kernel(klass, "file", std::move(path), std::move(entry), std::move(launch), std::move(wrong));
}

}  // namespace detail

// An entry of CUDA C, of PTX, or of a file (.cu, .ptx, .cubin, .fatbin), for units of class cuda.
inline auto cuda_source(std::string text, std::string entry, Launch how = {}) { return detail::kernel_source("cuda", "cuda", std::move(text), std::move(entry), std::move(how)); }
// An entry of PTX text.
inline auto cuda_ptx(std::string text, std::string entry, Launch how = {}) { return detail::kernel_source("cuda", "ptx", std::move(text), std::move(entry), std::move(how)); }
// An entry of a file (.cu, .ptx, .cubin, .fatbin).
inline auto cuda_file(std::string path, std::string entry, Launch how = {}) { return detail::kernel_file("cuda", std::move(path), std::move(entry), std::move(how)); }
// An entry of HIP's C++, or of a file, for units of class hip.
inline auto hip_source(std::string text, std::string entry, Launch how = {}) { return detail::kernel_source("hip", "hip", std::move(text), std::move(entry), std::move(how)); }
// An entry of a file.
inline auto hip_file(std::string path, std::string entry, Launch how = {}) { return detail::kernel_file("hip", std::move(path), std::move(entry), std::move(how)); }
// An entry of OpenCL C, or of a file (.cl, .spv, .bc, .bin), for units of class opencl.
inline auto opencl_source(std::string text, std::string entry, Launch how = {}) { return detail::kernel_source("opencl", "cl", std::move(text), std::move(entry), std::move(how)); }
// An entry of a file (.cl, .spv, .bc, .bin).
inline auto opencl_file(std::string path, std::string entry, Launch how = {}) { return detail::kernel_file("opencl", std::move(path), std::move(entry), std::move(how)); }
// An entry of a SPIR-V module, its bytes, or of a file (.spv, .bin), for units of class level_zero.
inline auto level_zero_spirv(std::string module, std::string entry, Launch how = {}) {
  const bool is_module = module.size() >= 20 && (module.compare(0, 4, "\x03\x02\x23\x07") == 0 || module.compare(0, 4, "\x07\x23\x02\x03") == 0);
  std::string wrong = is_module ? "" : "level_zero_spirv() takes the bytes of a SPIR-V module; the path of a file goes to level_zero_file()";
  return detail::make_kernel("level_zero", "spirv", std::move(module), std::move(entry), std::move(how), std::move(wrong));
}
// An entry of a file (.spv, .bin).
inline auto level_zero_file(std::string path, std::string entry, Launch how = {}) { return detail::kernel_file("level_zero", std::move(path), std::move(entry), std::move(how)); }
template <class... A>
detail::Impl<detail::Portable> level_zero_source(const A &...) {
  static_assert(sizeof...(A) > 1000, "Level Zero compiles no text: level_zero_spirv(module, entry), or level_zero_file(path, entry)");
  return {};
}

inline detail::Impl<detail::Portable> impl(std::string klass, Kernel k) {
  struct Kept {
    consort_portable how;
    std::vector<consort_pass> args;
  };
  detail::Impl<detail::Portable> out;
  out.any.klass = std::move(klass);
  out.any.format = std::move(k.format);
  out.any.text = std::move(k.text);
  out.any.entry = std::move(k.entry);
  auto *kept = new Kept{CONSORT_PORTABLE_INIT, std::move(k.args)};
  for (int i = 0; i < 3; ++i) kept->how.block[i] = k.block[i];
  kept->how.shared_bytes = k.shared_bytes;
  kept->how.over = k.over;
  kept->how.nargs = static_cast<uint32_t>(kept->args.size());
  kept->how.args = kept->args.empty() ? nullptr : kept->args.data();
  kept->how.range = k.range;
  kept->how.user = k.user;
  out.any.user = &kept->how;  // its first member
  out.any.drop = [](void *p) { delete static_cast<Kept *>(p); };
  return out;
}
inline detail::Impl<detail::Portable> impl(std::string klass, std::string format, std::string text, std::string entry) {
  return impl(std::move(klass), Kernel{std::move(format), std::move(text), std::move(entry)});
}
// Older form of cuda_file().
[[deprecated("consort::cuda_file(path, entry)")]] inline auto cuda(const char *path, const char *entry) { return impl("cuda", "file", path, entry); }
// Older form of opencl_file().
[[deprecated("consort::opencl_file(path, entry)")]] inline auto opencl(const char *path, const char *entry) { return impl("opencl", "file", path, entry); }

}  // namespace consort::inline face
#endif
