// Shapes from the wire, registration arguments, and partitions with any parameters, of every layout. Input: a byte for the
// layout, a byte for the filter, 128 bytes of arguments, parameters.
#include <consort/interface.h>

#include <vector>

#include "fuzz.hpp"

extern "C" {
#define INTERFACES(F) F(variable) F(vector) F(matrix) F(block) F(tensor) F(ndim) F(coo) F(csr) F(bcsr)
#define DECLARE(id) const consort_module *consort_plugin_entry_##id(const consort_host *);
INTERFACES(DECLARE)
#undef DECLARE
}

namespace {

constexpr uint32_t kMostBytes = 256;  // of a shape, a view [I-1]
constexpr uint64_t kHome = uint64_t{1} << 40;
constexpr uint32_t kFirstSparse = 6, kCoo = 6, kLayouts = 9;  // of INTERFACES

const consort_interface_ops &ops_of(uint32_t i) {
  static consort_host host = [] {
    consort_host h{};
    h.size = sizeof h, h.major = CONSORT_HOST_MAJOR, h.minor = CONSORT_HOST_MINOR;
    return h;
  }();
  static consort_entry_fn *const entries[] = {
#define ENTRY(id) consort_plugin_entry_##id,
      INTERFACES(ENTRY)
#undef ENTRY
  };
  static_assert(std::size(entries) == kLayouts);
  return *static_cast<const consort_interface_ops *>(entries[i](&host)->plugins[0]->ops);
}

struct Pod {
  alignas(16) char bytes[kMostBytes] = {};
};

// Bytes of every block that a view reaches, within [low, high).
bool inside(const consort_interface_ops &o, const Pod &shape, const Pod &view, const std::vector<consort_extent> &whole) {
  consort_extent e[8] = {};
  const uint32_t n = o.extents(shape.bytes, view.bytes, e, 8);
  for (uint32_t i = 0; i < n && i < 8; ++i) {
    bool in = e[i].bytes == 0;
    for (const consort_extent &w : whole) {
      const uint64_t from = e[i].addr.base + e[i].addr.off, low = w.addr.base + w.addr.off;
      in = in || (from >= low && e[i].bytes <= w.bytes && from - low <= w.bytes - e[i].bytes);
    }
    if (!in) return false;
  }
  return true;
}

// sums: whether the parts of this layout have as many bytes as the whole.
void partition(const consort_interface_ops &o, const consort_filter &f, bool sums, const Pod &shape, const Pod &home, fuzz::Bytes &in) {
  std::string params(in.rest());
  if (params.size() < f.params_size) params.resize(f.params_size);
  if (f.flags & CONSORT_FI_LIST) {
    uint32_t numbers = 0;
    std::memcpy(&numbers, params.data(), sizeof numbers);
    numbers = std::min<uint32_t>(numbers, static_cast<uint32_t>((params.size() - f.params_size) / 8));  // the kernel sees to it
    std::memcpy(params.data(), &numbers, sizeof numbers);
    params.resize(f.params_size + uint64_t{numbers} * 8);
  }
  const fuzz::Copy p(params);
  const uint32_t parts = f.count(shape.bytes, p.data());
  std::vector<consort_extent> whole(8);
  whole.resize(std::min<uint32_t>(o.extents(shape.bytes, home.bytes, whole.data(), 8), 8));
  const uint64_t all = o.bytes(shape.bytes);
  uint64_t sum = 0;
  const auto part = [&](uint32_t i) {
    Pod child, view;
    fuzz::expect(f.shape(shape.bytes, p.data(), i, child.bytes) == CONSORT_OK, "a part that was counted has a shape", f.name);
    fuzz::expect(f.alias(shape.bytes, home.bytes, p.data(), i, view.bytes) == CONSORT_OK, "a part that was counted has a view", f.name);
    if (f.flags & CONSORT_FI_RETYPE) return;
    fuzz::expect(inside(o, child, view, whole), "a part lies in the whole", f.name);
    const uint64_t bytes = o.bytes(child.bytes);
    fuzz::expect(bytes <= all, "a part is no larger than the whole", f.name);
    sum += bytes;
    char text[64];
    (void)o.describe(child.bytes, text, sizeof text);
  };
  constexpr uint32_t kMany = 300;
  for (uint32_t i = 0; i < parts && i < kMany; ++i) part(i);
  if (parts > kMany)
    for (uint32_t i = 0; i < 8; ++i) part(parts - 1 - i);
  if (parts && parts <= kMany && sums && (f.flags & CONSORT_FI_COVER) && !(f.flags & (CONSORT_FI_OVERLAP | CONSORT_FI_RETYPE)))
    fuzz::expect(sum == all, "parts make the whole", f.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::Bytes in(data, size);
  const uint32_t layout = in.below(kLayouts);
  const consort_interface_ops &o = ops_of(layout);
  const uint32_t which = in.byte();
  Pod shape, home;
  if (which & 0x80) {  // as a peer sends it
    const fuzz::Copy wire(in.rest());
    if (o.decode(wire.data(), static_cast<uint32_t>(wire.size()), shape.bytes) != CONSORT_OK) return 0;
    char again[kMostBytes];
    const uint32_t n = o.encode(shape.bytes, again, sizeof again);
    fuzz::expect(n == wire.size() && std::memcmp(again, wire.data(), n) == 0, "a shape that was decoded encodes to the same");
    char text[40];
    (void)o.describe(shape.bytes, text, sizeof text);
    (void)o.footprint(shape.bytes);
    fuzz::expect(o.bytes(shape.bytes) <= INT64_MAX, "sizes stay below 2^63");
    consort_block blocks[8];
    (void)o.blocks(shape.bytes, nullptr, blocks, 8);
    return 0;
  }
  char args[152] = {};  // the largest of layouts.h
  for (size_t i = 8; i < sizeof args; i += 8) {
    const uint8_t small = in.byte();
    const uint64_t n = small < 200 ? small : in.take<uint64_t>();
    std::memcpy(args + i, &n, sizeof n);
  }
  const bool home_is_told = in.flag();
  for (uint64_t i = 0; i < (layout < kFirstSparse ? 1 : 3); ++i) {
    const uint64_t at = home_is_told ? kHome << i : 0;
    std::memcpy(args + i * 8, &at, sizeof at);
  }
  consort_status made = CONSORT_E_INVAL;
  for (size_t n = 8; n <= sizeof args && made != CONSORT_OK; n += 8) made = o.shape(args, n, shape.bytes, home.bytes);
  if (made != CONSORT_OK) return 0;
  fuzz::expect(o.bytes(shape.bytes) <= INT64_MAX, "sizes stay below 2^63");
  if (o.nfilters) partition(o, o.filters[which % o.nfilters], layout <= kCoo, shape, home, in);
  return 0;
}
