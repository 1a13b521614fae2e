// The promises of alloc and free.
#include <malloc.h>

#include <algorithm>
#include <memory>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

// Limits a size to what any device should have free in that space.
uint64_t moderate_size(const Devices::Space &s, uint64_t bytes) {
  return std::max<uint64_t>(64, std::min(bytes, s.desc.capacity / 64));
}

// Returns whether base + off of a block is an address of bytes there, so that its alignment can be seen. `base` may also
// be the handle of an object. Where the CPU may not load, addresses are recognised by the space's own alignment: a few
// small blocks all have it.
bool has_addresses(Devices &devices, const Devices::Space &s, uint64_t bytes) {
  if (s.is_plain()) return true;
  if ((s.desc.flags & CONSORT_SP_OPAQUE) || s.desc.align < 32) return false;
  std::vector<consort_addr> live;
  bool are_aligned = true;
  for (consort_addr a{}; live.size() < 8 && devices.ops().alloc(devices.all()[s.device].handle, s.desc.id, bytes, s.desc.align, 0, &a) >= 0;) {
    live.push_back(a);
    are_aligned = are_aligned && a.base && (a.base + a.off) % s.desc.align == 0;
  }
  for (const consort_addr &a : live) devices.ops().free(devices.all()[s.device].handle, s.desc.id, a, bytes);
  return are_aligned && live.size() > 2;
}

}  // namespace

CONFORM_CASE(D, 5, behaviour, blocks_are_apart) {
  Plugin p(t);
  Devices devices(t, p);
  for (const uint32_t space : devices.own_spaces()) {
    const Devices::Space &s = devices.spaces()[space];
    std::vector<std::unique_ptr<Store>> live;
    for (uint64_t round = t.scaled(40, 300); round > 0 && t.has_time() && !t.failed(); --round) {
      if (live.size() > 12 || (!live.empty() && t.random().one_in(3))) {
        const auto at = live.begin() + static_cast<ptrdiff_t>(t.random().below(live.size()));
        (*at)->holds("other blocks came and went");
        live.erase(at);
        continue;
      }
      const uint64_t bytes = 1 + t.random().below(moderate_size(s, t.random().one_in(4) ? 300'000 : 5000));
      live.push_back(std::make_unique<Store>(devices, space, bytes));
      const consort_addr a = live.back()->at();
      const uint64_t place = s.is_plain() ? a.base + a.off : a.off;
      t.check(place % s.desc.align == 0, "a block of %llu bytes in %s is at 0x%llx, which is not aligned to %llu", big(bytes),
              s.name.c_str(), big(place), big(s.desc.align));
      for (const auto &other : live) {
        if (other == live.back()) continue;
        const consort_addr b = other->at();
        const bool same = s.is_plain() || a.base == b.base;
        const uint64_t x = s.is_plain() ? place : a.off, y = s.is_plain() ? b.base + b.off : b.off;
        t.check(!same || x + bytes <= y || y + other->bytes() <= x, "two blocks in %s overlap: %llu bytes at 0x%llx and %llu at 0x%llx",
                s.name.c_str(), big(bytes), big(x), big(other->bytes()), big(y));
      }
    }
    for (const auto &block : live)
      if (!t.failed()) block->holds("other blocks came and went");
  }
}

CONFORM_CASE(D, 5, behaviour, aligned_as_asked) {
  Plugin p(t);
  Devices devices(t, p);
  for (const uint32_t space : devices.own_spaces()) {
    const Devices::Space &s = devices.spaces()[space];
    const uint64_t bytes = std::max<uint64_t>(64, s.desc.granule);
    const bool numeric = has_addresses(devices, s, bytes);
    for (uint64_t align = 2 * s.desc.align; align <= 65'536 && align <= s.desc.capacity / 8; align *= 2) {
      std::vector<consort_addr> live;
      for (int k = 0; k < 4; ++k) {
        consort_addr a{};
        p.host().forget_failure();
        t.doing("alloc of %llu bytes in %s, aligned to %llu", big(bytes), s.name.c_str(), big(align));
        const consort_status status = devices.ops().alloc(devices.all()[s.device].handle, space, bytes, align, 0, &a);
        t.check(status >= 0 || !p.host().failure().empty(), "alloc with an alignment of %llu answers %d without a word", big(align), status);
        if (status < 0) break;
        live.push_back(a);
        const uint64_t place = numeric ? a.base + a.off : a.off;
        t.check(place % align == 0, "a block that has to be aligned to %llu is at 0x%llx", big(align), big(place));
      }
      for (const consort_addr &a : live) devices.ops().free(devices.all()[s.device].handle, space, a, bytes);
    }
  }
}

CONFORM_CASE(D, 6, behaviour, zeroed_where_asked) {
  mallopt(M_PERTURB, 0x5A);                      // so that memory from the allocator is not accidentally zero
  Plugin p(t);
  Devices devices(t, p);
  for (const uint32_t space : devices.own_spaces())
    for (const uint64_t bytes : {1u, 7u, 40u, 63u, 65u, 4095u, 4097u, 65'537u, 300'001u, (1u << 20) + 5}) {
      const uint64_t n = moderate_size(devices.spaces()[space], bytes);
      for (int k = 0; k < 3 && !t.failed(); ++k) {
        {
          // the next block may reuse their memory
          const Store dirty[] = {{devices, space, n}, {devices, space, n}, {devices, space, n}};
        }
        Store clean(devices, space, n, CONSORT_AL_ZERO, false);
        std::fill(clean.model.begin(), clean.model.end(), uint8_t{0});
        clean.holds("an alloc with CONSORT_AL_ZERO");
      }
    }
}

CONFORM_CASE(D, 7, behaviour, refuses_what_it_cannot) {
  Plugin p(t);
  Devices devices(t, p);
  unsigned own = 0, tried = 0;
  for (const Devices::Space &s : devices.spaces()) {
    if (!s.is_own()) continue;
    ++own;
    void *const device = devices.all()[s.device].handle;
    const auto ask = [&](uint64_t bytes, uint32_t flags) {
      consort_addr a{0, 0};
      p.host().forget_failure();
      t.doing("alloc of %llu bytes in %s with flags 0x%x", big(bytes), s.name.c_str(), flags);
      const consort_status status = devices.ops().alloc(device, s.desc.id, bytes, s.desc.align, flags, &a);
      if (status >= 0) devices.ops().free(device, s.desc.id, a, bytes);
      else t.check(!p.host().failure().empty(), "alloc of %llu bytes in %s with flags 0x%x answers %d without a word", big(bytes),
                   s.name.c_str(), flags, status);
      return status;
    };
    const uint64_t usual = std::max<uint64_t>(64, s.desc.granule);
    const consort_status plain = ask(usual, 0);
    if (plain == CONSORT_E_UNSUPPORTED) continue;
    if (plain == CONSORT_E_NOMEM && s.desc.capacity < usual) continue;
    ++tried;
    t.check(plain >= 0, "alloc of %llu bytes in %s answers %d: %s", big(usual), s.name.c_str(), plain, p.host().failure().c_str());
    for (const uint32_t bit : {20u, 31u}) {
      const consort_status status = ask(usual, 1u << bit);
      t.check(status == CONSORT_E_UNSUPPORTED, "alloc in %s with the unknown flag 0x%x answers %d, not %d (E_UNSUPPORTED)",
              s.name.c_str(), 1u << bit, status, CONSORT_E_UNSUPPORTED);
    }
    for (const uint64_t bytes : {uint64_t{1} << 60, uint64_t{UINT64_MAX} - 5}) {
      const consort_status status = ask(bytes, 0);
      t.check(status == CONSORT_E_NOMEM, "alloc of %llu bytes in %s answers %d, not %d (E_NOMEM)", big(bytes), s.name.c_str(), status,
              CONSORT_E_NOMEM);
    }
    t.check(ask(usual, 0) >= 0, "after refusals alloc of %llu bytes in %s fails: %s", big(usual), s.name.c_str(), p.host().failure().c_str());
  }
  if (!own) t.skip("it has no memory of its own");
  if (!tried) t.skip("its spaces give no memory, or have too little for a block");
}

}  // namespace conform
