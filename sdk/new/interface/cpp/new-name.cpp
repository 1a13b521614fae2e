// new-name: a data interface. n elements of one size, one behind the other; the partition "blocks" cuts it in parts.
//
// It says where the bytes are and how many; the runtime allocates, copies, sends and orders tasks. Stateless: any
// thread may call any function. Sizes stay below 2^63 bytes.
#include "new-name.h"

#include <consort/plugin/interface.hpp>

#include <cstring>

namespace {

using namespace consort::plugin;

struct NewNameLayout : Interface {
  static constexpr const char *summary = "n elements of one size, contiguous", *license = "Apache-2.0";
  static constexpr uint64_t kLayout = 0x6e6577;  // in the size class: another one for another layout
  static constexpr char kTag[] = "NEW1";         // on the wire: another one for another layout or version

  using Args = new_name_args;
  using View = new_name_view;
  struct Shape {
    uint64_t n, elem;
  };

  static bool good(const Shape &s) noexcept { return s.elem > 0 && s.elem <= INT64_MAX && s.n <= INT64_MAX / s.elem; }
  static uint64_t size(const Shape &s) noexcept { return s.n * s.elem; }

  static void shape(const Args &a, Shape &shape, View &home) {
    const Shape s = {a.n, a.elem};
    const auto ptr = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(a.ptr));
    if (!good(s) || (ptr && ptr + size(s) < ptr))
      throw Error(CONSORT_E_INVAL, "elements have at least a byte, all of them less than 2^63");
    shape = s;
    home = {{ptr, 0}, a.n, a.elem};
  }
  static uint64_t footprint(const Shape &s) noexcept { return footprint_of(kLayout, s.n, s.elem); }
  static uint64_t bytes(const Shape &s) noexcept { return size(s); }

  // One allocation for each replica; none where there is no element.
  static void blocks(const Shape &s, const consort_space_desc &, List<consort_block> &out) noexcept {
    if (size(s)) out.add({size(s), 64});
  }
  static void view(const Shape &s, const consort_space_desc &, Blocks at, View &out) {
    if (at.size() != (size(s) ? 1u : 0u)) throw Error(CONSORT_E_INVAL, "one block, or none without elements");
    out = {at.empty() ? consort_addr{0, 0} : at[0], s.n, s.elem};
  }
  static void extents(const Shape &s, const View &v, List<consort_extent> &out) noexcept {
    if (size(s)) out.add({v.addr, size(s)});
  }
  // What a kernel on a device is given: the address, n.
  static void args(const Shape &s, const View &v, List<consort_arg> &out) noexcept {
    out.add({CONSORT_ARG_ADDR, 8, v.addr, size(s), 0});
    out.add({CONSORT_ARG_SCALAR, 8, {0, 0}, 0, s.n});
  }
  static void runs(const Shape &s, const View &src, const View &dst, List<consort_run> &out) noexcept {
    if (size(s)) out.add({src.addr, dst.addr, size(s), {1, 1}, {0, 0}, {0, 0}});
  }

  // Contents: these two alone read or write them. The buffer has bytes() bytes, the caller has seen to it.
  static void pack(const Shape &s, const View &v, std::span<std::byte> out) noexcept {
    if (size(s)) std::memcpy(out.data(), address(v.addr), size(s));
  }
  static void unpack(const Shape &s, View &v, std::span<const std::byte> in) noexcept {
    if (size(s)) std::memcpy(address(v.addr), in.data(), size(s));
  }

  static void encode(const Shape &s, Writer &out) noexcept {
    out.tag(kTag);
    out.number(s.n);
    out.number(s.elem);
  }
  static bool decode(Reader &in, Shape &s) noexcept {  // from another process: believed no further than it is checked
    in.tag(kTag);
    s.n = in.number();
    s.elem = in.number();
    return good(s);
  }
  static void describe(const Shape &s, Text &out) noexcept { out << "new-name of " << s.n << " x " << s.elem << " B"; }
  static void sizes(const Shape &s, List<uint64_t> &out) noexcept { out.add(s.n); }

  // Part i of `parts`; they differ by one element at most, the larger first.
  struct Parts {
    using Params = new_name_split;
    static uint64_t begin(const Shape &s, const Params &p, uint32_t i) noexcept {
      const uint64_t more = s.n % p.parts;
      return s.n / p.parts * i + (i < more ? i : more);
    }
    static uint32_t count(const Shape &, const Params &p) noexcept { return p.parts; }
    static bool shape(const Shape &s, const Params &p, uint32_t i, Shape &child) noexcept {
      if (i >= p.parts) return false;
      child = {begin(s, p, i + 1) - begin(s, p, i), s.elem};
      return true;
    }
    static bool alias(const Shape &s, const View &v, const Params &p, uint32_t i, View &child) noexcept {
      if (i >= p.parts) return false;
      const uint64_t from = begin(s, p, i);
      child = {{v.addr.base, v.addr.off + from * s.elem}, begin(s, p, i + 1) - from, s.elem};
      return true;
    }
  };
  static const consort_filter filters[1];

  // What `consort conform` judges by: data of some sizes, with a home and without, and ways to cut them.
  static bool sample(uint32_t i, std::span<std::byte> memory, Args &out) noexcept {
    constexpr Shape all[] = {{0, 8}, {1, 1}, {1, 8}, {7, 3}, {100, 4}, {513, 8}, {1000, 16}};
    if (i >= std::size(all) || (!memory.empty() && size(all[i]) > memory.size())) return false;
    out = {memory.empty() ? nullptr : memory.data(), all[i].n, all[i].elem};
    return true;
  }
  static uint64_t sample_params(uint32_t, uint32_t, uint32_t k, std::span<std::byte> out) noexcept {
    constexpr new_name_split all[] = {{1}, {2}, {3}, {8}, {101}};
    if (k >= std::size(all) || out.size() < sizeof *all) return 0;
    std::memcpy(out.data(), &all[k], sizeof *all);
    return sizeof *all;
  }
  static const void *extension(const char *id) noexcept { return samples_if<NewNameLayout>(id); }
};
constexpr consort_filter NewNameLayout::filters[] = {filter<NewNameLayout, Parts>("blocks")};

}  // namespace

CONSORT_PLUGIN(new_name, INTERFACE, CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE, "new-name", "0.1.0", NewNameLayout);
