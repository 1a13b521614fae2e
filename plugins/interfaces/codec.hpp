// codec.hpp — functions of a shape alone: size class, wire format, text; and the plugin's table.
//
// [pure], any thread. A layout L has L::Shape (64-bit numbers only), L::tag (four letters) and
// L::good(shape), which checks a shape; decoded shapes are checked by it alone.
#pragma once
#include <consort/interface.h>

#include <cstring>

namespace layouts {

// Writes text into `cap` bytes, truncated, NUL-terminated; counts the full length.
class Text {
 public:
  Text(char *out, uint32_t cap) : out_(out), cap_(cap) {
    if (cap_) out_[0] = 0;
  }
  Text &operator<<(const char *s) {
    for (; *s; ++s) put(*s);
    return *this;
  }
  Text &operator<<(uint64_t v) {
    char digits[20];
    int k = 0;
    do digits[k++] = static_cast<char>('0' + v % 10);
    while (v /= 10);
    while (k) put(digits[--k]);
    return *this;
  }
  uint32_t length() const { return n_; }

 private:
  void put(char c) {
    if (n_ + 1 < cap_) {
      out_[n_] = c;
      out_[n_ + 1] = 0;
    }
    ++n_;
  }
  char *out_;
  uint32_t cap_, n_ = 0;
};

template <class L>
struct Codec {
  using Shape = typename L::Shape;
  static constexpr uint32_t kWords = sizeof(Shape) / 8, kTag = 4, kWire = kTag + sizeof(Shape);
  static_assert(kWords * 8 == sizeof(Shape) && sizeof L::tag == kTag + 1);

  // The tag seeds the hash of each layout.
  static uint64_t hash(const Shape &shape) {
    uint64_t w[kWords], h = UINT64_C(0x9e3779b97f4a7c15);
    std::memcpy(w, &shape, sizeof w);
    for (uint32_t i = 0; i <= kWords; ++i) {
      const uint64_t v = i < kWords ? w[i] : uint64_t(uint8_t(L::tag[0])) << 16 | uint64_t(uint8_t(L::tag[1])) << 8 | uint8_t(L::tag[2]);
      h = (h ^ v) * UINT64_C(0xd6e8feb86659fd93);
      h ^= h >> 32;
    }
    return (h ^ h >> 29) * UINT64_C(0xd6e8feb86659fd93);
  }

  // The tag, then the shape's fields in order, 64 bits each, least significant byte first.
  static uint32_t encode(const void *shape, void *wire, uint32_t cap) {
    if (cap >= kWire) {
      auto *out = static_cast<unsigned char *>(wire);
      uint64_t w[kWords];
      std::memcpy(w, shape, sizeof w);
      std::memcpy(out, L::tag, kTag);
      for (uint32_t i = 0; i < sizeof(Shape); ++i) out[kTag + i] = static_cast<unsigned char>(w[i / 8] >> i % 8 * 8);
    }
    return kWire;
  }

  static consort_status decode(const void *wire, uint32_t n, void *shape) {
    if (n < kWire) return CONSORT_E_TRUNCATED;
    if (n != kWire || std::memcmp(wire, L::tag, kTag) != 0) return CONSORT_E_INVAL;
    const auto *in = static_cast<const unsigned char *>(wire) + kTag;
    uint64_t w[kWords] = {};
    for (uint32_t i = 0; i < sizeof(Shape); ++i) w[i / 8] |= uint64_t{in[i]} << i % 8 * 8;
    Shape s;
    std::memcpy(&s, w, sizeof s);
    if (!L::good(s)) return CONSORT_E_INVAL;
    *static_cast<Shape *>(shape) = s;
    return CONSORT_OK;
  }
};

// Flags of all layouts here: no state, no clock, unloadable.
inline constexpr uint32_t kPluginFlags = CONSORT_PF_VIRTUAL | CONSORT_PF_UNLOADABLE;
constexpr consort_plugin layout_plugin(const char *name, const char *summary, const consort_interface_ops &ops) {
  consort_plugin p = {};
  p.size = sizeof p;
  p.kind = CONSORT_KIND_INTERFACE;
  p.abi_major = CONSORT_INTERFACE_MAJOR;
  p.abi_minor = CONSORT_INTERFACE_MINOR;
  p.flags = kPluginFlags;
  p.name = name;
  p.version = "0.1.0";
  p.summary = summary;
  p.license = "Apache-2.0";
  p.ops = &ops;
  return p;
}

}  // namespace layouts
