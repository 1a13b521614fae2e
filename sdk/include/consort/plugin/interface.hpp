// plugin/interface.hpp — a data interface as a class of static functions over its own types.
//
//   struct Mine : consort::plugin::Interface {
//     struct Args {…};   // what registration is given
//     struct Shape {…};  // the logical datum         (both: plain data of at most 256 bytes, copied by memcpy)
//     struct View {…};   // one replica
//     static void shape(const Args &, Shape &, View &home);                                     // may throw Error
//     static uint64_t footprint(const Shape &) noexcept;                                        // footprint_of(…)
//     static uint64_t bytes(const Shape &) noexcept;
//     static void blocks(const Shape &, const consort_space_desc &, List<consort_block> &) noexcept;
//     static void view(const Shape &, const consort_space_desc &, Blocks, View &);              // may throw
//     static void extents(const Shape &, const View &, List<consort_extent> &) noexcept;
//     static void args(const Shape &, const View &, List<consort_arg> &) noexcept;
//     static void runs(const Shape &, const View &src, const View &dst, List<consort_run> &) noexcept;
//     static void pack(const Shape &, const View &, std::span<std::byte>);                      // may throw
//     static void unpack(const Shape &, View &, std::span<const std::byte>);                    // may throw
//     static void encode(const Shape &, Writer &) noexcept;
//     static bool decode(Reader &, Shape &) noexcept;                                           // false: no such shape
//     static void describe(const Shape &, Text &) noexcept;
//   };
//   CONSORT_PLUGIN(mine, INTERFACE, CONSORT_PF_VIRTUAL, "mine", "1.0.0", Mine);
//
// Optional: packed_bytes(const Shape &, const View &) (without: bytes()), reshape(const Shape &, const View &, Shape &)
// (the flag DYNAMIC comes by itself), sizes(const Shape &, List<uint64_t> &), and the constants `filters`,
// `conversions` (arrays), `interface_flags`; for `consort conform`, samples (below). What is given in Lists is counted,
// and kept as far as there is room. The functions are [pure]: what is thrown becomes a status without a text, for they
// may not call the host.
#pragma once
#include <cstddef>
#include <cstring>

#include "../interface.h"
#include "../samples.h"
#include "table.hpp"

namespace consort::plugin {

// An answer of any length: counted to its end, stored as far as the caller has room.
template <class T>
class List {
 public:
  List(T *out, uint32_t max) noexcept : out_(out), max_(max) {}  // Writes to out, at most max.
  // One more; dropped, but counted, where there is no room.
  void add(const T &t) noexcept {
    if (n_ < max_) out_[n_] = t;
    ++n_;
  }
  uint32_t count() const noexcept { return n_; }  // How many were added.
  uint32_t room() const noexcept { return max_; }  // How many there is room for.

 private:
  T *out_;
  uint32_t max_, n_ = 0;
};

using Blocks = std::span<const consort_addr>;

// Bytes on the wire: numbers of 64 bits, the least significant byte first, behind a tag of letters that names
// layout and version.
class Writer {
 public:
  // Writes to out, at most cap bytes.
  Writer(void *out, uint32_t cap) noexcept : out_(static_cast<unsigned char *>(out)), cap_(cap) {}
  // The letters that name layout and version.
  void tag(std::string_view letters) noexcept {
    for (const char c : letters) byte(static_cast<unsigned char>(c));
  }
  // One number, eight bytes.
  void number(uint64_t v) noexcept {
    for (unsigned i = 0; i < 8; ++i) byte(static_cast<unsigned char>(v >> 8 * i));
  }
  uint32_t count() const noexcept { return n_; }  // How many bytes there are in all, also where they did not fit.

 private:
  void byte(unsigned char b) noexcept {
    if (n_ < cap_) out_[n_] = b;
    ++n_;
  }
  unsigned char *out_;
  uint32_t cap_, n_ = 0;
};

// What came over the wire, which is believed no further than it is checked. Once too short or wrong it stays so.
class Reader {
 public:
  // Reads n bytes.
  Reader(const void *in, uint32_t n) noexcept : in_(static_cast<const unsigned char *>(in)), left_(n) {}
  // Expects these letters.
  void tag(std::string_view letters) noexcept {
    for (const char c : letters) {
      if (!left_) return void(short_ = true);
      wrong_ |= *in_++ != static_cast<unsigned char>(c);
      --left_;
    }
  }
  // The next number; 0 where too few bytes are left.
  uint64_t number() noexcept {
    if (left_ < 8) return short_ = true, left_ = 0, uint64_t{0};
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; ++i) v |= uint64_t{in_[i]} << 8 * i;
    in_ += 8, left_ -= 8;
    return v;
  }
  // OK: all was as expected and nothing is left. Else E_TRUNCATED or E_INVAL.
  consort_status status() const noexcept {
    if (short_) return CONSORT_E_TRUNCATED;
    return wrong_ || left_ ? consort_status{CONSORT_E_INVAL} : consort_status{CONSORT_OK};
  }

 private:
  const unsigned char *in_;
  uint32_t left_;
  bool short_ = false, wrong_ = false;
};

// Text for traces and errors, cut where the room ends, always ended by NUL.
class Text {
 public:
  // Writes to out, at most cap bytes with the NUL.
  Text(char *out, uint32_t cap) noexcept : out_(out), cap_(cap) {
    if (cap_) out_[0] = 0;
  }
  // Appends text.
  Text &operator<<(std::string_view s) noexcept {
    for (const char c : s) {
      if (n_ + 1 < cap_) out_[n_] = c, out_[n_ + 1] = 0;
      ++n_;
    }
    return *this;
  }
  // Appends a number, in decimal.
  Text &operator<<(uint64_t v) noexcept {
    char digits[20];
    return *this << std::string_view(digits, std::to_chars(digits, digits + sizeof digits, v).ptr);
  }
  uint32_t count() const noexcept { return n_; }  // How many bytes there are in all, also where they did not fit.

 private:
  char *out_;
  uint32_t cap_, n_ = 0;
};

// A size class of 64 bits out of numbers; the first names the layout, so that no two share one.
template <class... N>
constexpr uint64_t footprint_of(uint64_t layout, N... n) noexcept {
  uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
  for (const uint64_t v : {layout, static_cast<uint64_t>(n)...}) {
    h = (h ^ v) * UINT64_C(0xd6e8feb86659fd93);
    h ^= h >> 32;
  }
  return h;
}

// The address of memory that the CPU can load and store.
inline char *address(consort_addr a) noexcept {
  return reinterpret_cast<char *>(static_cast<uintptr_t>(a.base + a.off));
}

// What lies at p, as a T.
template <class T>
const T &as(const void *p) noexcept {
  return *static_cast<const T *>(p);
}
// The parameters of a filter at p; those of an empty struct are made.
template <class P>
decltype(auto) params_at(const void *p) noexcept {
  if constexpr (std::is_empty_v<P>)
    return (void)p, P();  // an empty range has no address
  else
    return as<P>(p);
}

// One partition. F has `Params` (plain data; an empty struct: none) and
//   uint32_t count(const Shape &, const Params &) noexcept                    0: these make no partition
//   bool shape(const Shape &, const Params &, uint32_t i, ChildShape &) noexcept
//   bool alias(const Shape &, const View &, const Params &, uint32_t i, ChildView &) noexcept
// Child: the interface of the parts where it is another one (CONSORT_FI_RETYPE), by its types and its name.
template <class I, class F, class Child = I>
constexpr consort_filter filter(const char *name, uint32_t flags = CONSORT_FI_COVER, const char *child = nullptr) {
  using P = typename F::Params;
  using S = typename I::Shape;
  using V = typename I::View;
  using CS = typename Child::Shape;
  using CV = typename Child::View;
  static_assert(
      noexcept(F::count(some<const S>(), some<const P>())) &&noexcept(
          F::shape(some<const S>(), some<const P>(), 0u,
                   some<CS>())) &&noexcept(F::alias(some<const S>(), some<const V>(), some<const P>(), 0u, some<CV>())),
      "count(), shape() and alias() of a filter must be noexcept");
  if (child) flags |= CONSORT_FI_RETYPE;
  return {name,
          child,
          std::is_empty_v<P> ? 0u : static_cast<uint32_t>(sizeof(P)),
          flags,
          [](const void *s, const void *p) noexcept -> uint32_t { return F::count(as<S>(s), params_at<P>(p)); },
          [](const void *s, const void *p, uint32_t i, void *out) noexcept -> consort_status {
            if (!F::shape(as<S>(s), params_at<P>(p), i, *static_cast<CS *>(out))) return CONSORT_E_INVAL;
            return CONSORT_OK;
          },
          [](const void *s, const void *v, const void *p, uint32_t i, void *out) noexcept -> consort_status {
            if (!F::alias(as<S>(s), as<V>(v), params_at<P>(p), i, *static_cast<CV *>(out))) return CONSORT_E_INVAL;
            return CONSORT_OK;
          }};
}

// Data by which `consort conform` can judge the layout, as samples.h says:
//   static bool sample(uint32_t i, std::span<std::byte> memory, Args &) noexcept;   no memory: no home; false: no more
//   static uint64_t sample_params(uint32_t i, uint32_t filter, uint32_t k, std::span<std::byte>) noexcept;  optional
//   static const void *extension(const char *id) noexcept { return samples_if<Mine>(id); }
template <class C>
constexpr consort_samples samples_of() {
  using A = typename C::Args;
  static_assert(std::is_trivially_copyable_v<A> &&noexcept(C::sample(0u, std::span<std::byte>(), some<A>())));
  consort_samples t{};
  t.size = sizeof t;
  t.args = [](void *, uint32_t i, void *memory, uint64_t room, void *args, uint64_t max) noexcept -> uint64_t {
    A a{};
    const auto home = std::span(static_cast<std::byte *>(memory), memory ? static_cast<size_t>(room) : 0);
    if (!C::sample(i, home, a)) return 0;
    if (sizeof a <= max) std::memcpy(args, &a, sizeof a);
    return sizeof a;
  };
  if constexpr (requires { C::sample_params(0u, 0u, 0u, std::span<std::byte>()); })
    t.params = [](void *, uint32_t i, uint32_t filter, uint32_t k, void *out, uint64_t max) noexcept -> uint64_t {
      return C::sample_params(i, filter, k, std::span(static_cast<std::byte *>(out), static_cast<size_t>(max)));
    };
  return t;
}
template <class C>
inline constexpr consort_samples samples_table = samples_of<C>();
// The table of samples for the id CONSORT_SAMPLES_ID, else nullptr.
template <class C>
const void *samples_if(std::string_view id) noexcept {
  return id == CONSORT_SAMPLES_ID ? &samples_table<C> : nullptr;
}

namespace layout {

template <class C>
uint64_t packed(const typename C::Shape &s, [[maybe_unused]] const typename C::View &v) noexcept {
  CONSORT_IF_NOEXCEPT(packed_bytes, (s, v), "uint64_t packed_bytes(const Shape &, const View &) noexcept")
  return C::packed_bytes(s, v);
  else return C::bytes(s);
}

template <class C>
constexpr consort_interface_ops table() {
  using A = typename C::Args;
  using S = typename C::Shape;
  using V = typename C::View;
  static_assert(
      std::is_trivially_copyable_v<S> && std::is_trivially_copyable_v<V> && sizeof(S) <= 256 && sizeof(V) <= 256,
      "Shape and View are plain data of at most 256 bytes each");
  CONSORT_NEEDS_CALL(shape, (some<const A>(), some<S>(), some<V>()), "void shape(const Args &, Shape &, View &home)");
  CONSORT_NEEDS_NOEXCEPT(footprint, (some<const S>()), "uint64_t footprint(const Shape &) noexcept");
  CONSORT_NEEDS_NOEXCEPT(bytes, (some<const S>()), "uint64_t bytes(const Shape &) noexcept");
  CONSORT_NEEDS_NOEXCEPT(blocks, (some<const S>(), some<const consort_space_desc>(), some<List<consort_block>>()),
                         "void blocks(const Shape &, const consort_space_desc &, List<consort_block> &) noexcept");
  CONSORT_NEEDS_CALL(view, (some<const S>(), some<const consort_space_desc>(), Blocks(), some<V>()),
                     "void view(const Shape &, const consort_space_desc &, Blocks, View &)");
  CONSORT_NEEDS_NOEXCEPT(extents, (some<const S>(), some<const V>(), some<List<consort_extent>>()),
                         "void extents(const Shape &, const View &, List<consort_extent> &) noexcept");
  CONSORT_NEEDS_NOEXCEPT(args, (some<const S>(), some<const V>(), some<List<consort_arg>>()),
                         "void args(const Shape &, const View &, List<consort_arg> &) noexcept");
  CONSORT_NEEDS_NOEXCEPT(runs, (some<const S>(), some<const V>(), some<const V>(), some<List<consort_run>>()),
                         "void runs(const Shape &, const View &src, const View &dst, List<consort_run> &) noexcept");
  CONSORT_NEEDS_CALL(pack, (some<const S>(), some<const V>(), std::span<std::byte>()),
                     "void pack(const Shape &, const View &, std::span<std::byte>)");
  CONSORT_NEEDS_CALL(unpack, (some<const S>(), some<V>(), std::span<const std::byte>()),
                     "void unpack(const Shape &, View &, std::span<const std::byte>)");
  CONSORT_NEEDS_NOEXCEPT(encode, (some<const S>(), some<Writer>()), "void encode(const Shape &, Writer &) noexcept");
  CONSORT_NEEDS_NOEXCEPT(decode, (some<Reader>(), some<S>()), "bool decode(Reader &, Shape &) noexcept");
  CONSORT_NEEDS_NOEXCEPT(describe, (some<const S>(), some<Text>()), "void describe(const Shape &, Text &) noexcept");

  consort_interface_ops o{};
  o.size = sizeof o;
  o.shape_size = sizeof(S);
  o.view_size = sizeof(V);
  if constexpr (requires { C::interface_flags; }) o.flags = C::interface_flags;
  if constexpr (requires { std::size(C::filters); }) {
    o.filters = std::data(C::filters);
    o.nfilters = static_cast<uint32_t>(std::size(C::filters));
  }
  if constexpr (requires { std::size(C::conversions); }) {
    o.conversions = std::data(C::conversions);
    o.nconversions = static_cast<uint32_t>(std::size(C::conversions));
  }
  o.shape = [](const void *user, uint64_t n, void *shape, void *home) noexcept -> consort_status {
    if (!user || n != sizeof(A)) return CONSORT_E_INVAL;
    S s{};
    V v{};
    const consort_status status = guarded(nullptr, [&] { return C::shape(as<A>(user), s, v); });
    if (status < 0) return status;
    *static_cast<S *>(shape) = s;
    *static_cast<V *>(home) = v;
    return status;
  };
  o.footprint = [](const void *s) noexcept -> uint64_t { return C::footprint(as<S>(s)); };
  o.bytes = [](const void *s) noexcept -> uint64_t { return C::bytes(as<S>(s)); };
  o.blocks = [](const void *s, const consort_space_desc *d, consort_block *out, uint32_t max) noexcept -> uint32_t {
    List<consort_block> list(out, max);
    C::blocks(as<S>(s), *d, list);
    return list.count();
  };
  o.view = [](const void *s, const consort_space_desc *d, const consort_addr *at, uint32_t n,
              void *out) noexcept -> consort_status {
    V v{};
    const consort_status status = guarded(nullptr, [&] { return C::view(as<S>(s), *d, Blocks(at, n), v); });
    if (status >= 0) *static_cast<V *>(out) = v;
    return status;
  };
  o.extents = [](const void *s, const void *v, consort_extent *out, uint32_t max) noexcept -> uint32_t {
    List<consort_extent> list(out, max);
    C::extents(as<S>(s), as<V>(v), list);
    return list.count();
  };
  o.args = [](const void *s, const void *v, consort_arg *out, uint32_t max) noexcept -> uint32_t {
    List<consort_arg> list(out, max);
    C::args(as<S>(s), as<V>(v), list);
    return list.count();
  };
  o.runs = [](const void *s, const void *src, const void *dst, consort_run *out, uint32_t max) noexcept -> uint32_t {
    List<consort_run> list(out, max);
    C::runs(as<S>(s), as<V>(src), as<V>(dst), list);
    return list.count();
  };
  o.packed_bytes = [](const void *s, const void *v) noexcept -> uint64_t { return packed<C>(as<S>(s), as<V>(v)); };
  o.pack = [](const void *s, const void *v, void *buf, uint64_t cap) noexcept -> consort_status {
    const uint64_t n = packed<C>(as<S>(s), as<V>(v));
    if (cap < n) return CONSORT_E_TRUNCATED;
    return guarded(nullptr, [&] { return C::pack(as<S>(s), as<V>(v), std::span(static_cast<std::byte *>(buf), n)); });
  };
  o.unpack = [](const void *s, void *v, const void *buf, uint64_t n) noexcept -> consort_status {
    if constexpr (!CONSORT_HAS_CALL(packed_bytes, (some<const S>(), some<const V>())))
      if (const uint64_t all = C::bytes(as<S>(s)); n != all) return n < all ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
    return guarded(nullptr, [&] {
      return C::unpack(as<S>(s), *static_cast<V *>(v), std::span(static_cast<const std::byte *>(buf), n));
    });
  };
  CONSORT_IF_CALL(reshape, (some<const S>(), some<const V>(), some<S>()),
                  "void reshape(const Shape &, const View &, Shape &out)") {
    o.flags |= CONSORT_IF_DYNAMIC;
    o.reshape = [](const void *s, const void *v, void *out) noexcept -> consort_status {
      S next{};
      const consort_status status = guarded(nullptr, [&] { return C::reshape(as<S>(s), as<V>(v), next); });
      if (status >= 0) *static_cast<S *>(out) = next;
      return status;
    };
  }
  o.encode = [](const void *s, void *wire, uint32_t cap) noexcept -> uint32_t {
    Writer count(nullptr, 0);
    C::encode(as<S>(s), count);
    if (count.count() > cap) return count.count();  // all or nothing
    Writer out(wire, cap);
    C::encode(as<S>(s), out);
    return out.count();
  };
  o.decode = [](const void *wire, uint32_t n, void *out) noexcept -> consort_status {
    Reader in(wire, n);
    S s{};
    const bool good = C::decode(in, s);
    if (const consort_status status = in.status(); status < 0) return status;
    if (!good) return CONSORT_E_INVAL;
    *static_cast<S *>(out) = s;
    return CONSORT_OK;
  };
  o.describe = [](const void *s, char *utf8, uint32_t cap) noexcept -> uint32_t {
    Text text(utf8, cap);
    C::describe(as<S>(s), text);
    return text.count();
  };
  CONSORT_IF_NOEXCEPT(sizes, (some<const S>(), some<List<uint64_t>>()),
                      "void sizes(const Shape &, List<uint64_t> &) noexcept")
  o.sizes = [](const void *s, uint64_t *out, uint32_t max) noexcept -> uint32_t {
    List<uint64_t> list(out, max);
    C::sizes(as<S>(s), list);
    return list.count();
  };
  return o;
}

}  // namespace layout

// Base of a data interface.
struct Interface {
  static constexpr uint32_t kind = CONSORT_KIND_INTERFACE;
  static constexpr uint16_t abi_major = CONSORT_INTERFACE_MAJOR, abi_minor = CONSORT_INTERFACE_MINOR;
  static constexpr bool is_self = false;
  template <class C>
  static constexpr consort_interface_ops table = layout::table<C>();
};

}  // namespace consort::plugin
