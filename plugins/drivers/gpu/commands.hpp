// commands.hpp — one op as calls of a vendor's library: copies of up to three dimensions, fills, launches, memory in order.
//
// Parts of Lane, called by the issuing thread with the context current. Each returns the vendor's error, or 0; after refuse() with
// a text it returns 0 too.
#pragma once
#include <array>
#include <cstring>
#include <vector>

#include "lane.hpp"

namespace gpu {

template <class V>
int Lane<V>::copy(const consort_copy &c, typename V::Stream stream, Issued &out) {
  const bool from = dev_.owns(c.src_space), to = dev_.owns(c.dst_space);
  if (!from && !to) {
    refuse(out, CONSORT_E_UNSUPPORTED, "a copy between spaces " + std::to_string(c.src_space) + " and " +
                                           std::to_string(c.dst_space) + ", neither of which belongs to this device");
    return 0;
  }
  const Device *other = from && !to ? dev_.owner_of(c.dst_space) : nullptr;
  int e = 0;
  const bool all = streams::each_box(c, [&](const streams::Box &b) {
    const uint64_t src = b.src.base + b.src.off, dst = b.dst.base + b.dst.off;
    if (other) e = api_.copy_across(b, dst, other->number, other->handle, src, dev_.number, dev_.handle, stream);
    else e = api_.copy(b, dst, to, src, from, stream);
    return e == 0;
  }, V::kLongestPitch);
  if (all) out.bytes = streams::bytes_of(c);
  else refuse(out, V::status_of(e), "a copy of " + std::to_string(streams::bytes_of(c)) + " bytes was refused: " + api_.words(e));
  return e;
}

// A fill writes whole patterns at multiples of their size; partial patterns at both ends are written byte by byte.
template <class V>
int Lane<V>::fill(const consort_fill &f, typename V::Stream stream, Issued &out) {
  if (!dev_.owns(f.space)) {
    refuse(out, CONSORT_E_UNSUPPORTED, "a fill in space " + std::to_string(f.space) + ", which does not belong to this device");
    return 0;
  }
  if (!f.run) return 0;
  unsigned char p[4];
  std::memcpy(p, &f.pattern, 4);
  const uint64_t at = f.dst.base + f.dst.off;
  int e = 0;
  if (p[0] == p[1] && p[1] == p[2] && p[2] == p[3]) {
    e = api_.fill(at, p[0], 1, f.run, stream);
  } else {
    const uint64_t head = std::min((4 - at % 4) % 4, f.run), body = (f.run - head) / 4 * 4;
    unsigned char turned[4] = {p[head % 4], p[(head + 1) % 4], p[(head + 2) % 4], p[(head + 3) % 4]};
    uint32_t word;
    std::memcpy(&word, turned, 4);
    for (uint64_t i = 0; !e && i < head; ++i) e = api_.fill(at + i, p[i % 4], 1, 1, stream);
    if (!e && body) e = api_.fill(at + head, word, 4, body / 4, stream);
    for (uint64_t i = head + body; !e && i < f.run; ++i) e = api_.fill(at + i, p[i % 4], 1, 1, stream);
  }
  if (!e) out.bytes = f.run;
  else refuse(out, V::status_of(e), "a fill was refused: " + api_.words(e));
  return e;
}

// Stream-ordered memory: later ops may use it at once; FREE takes effect after earlier ops.
template <class V>
int Lane<V>::memory(const consort_op &op, typename V::Stream stream, Issued &out) {
  const consort_alloc &a = op.u.alloc;
  if (!dev_.owns(a.space)) {
    refuse(out, CONSORT_E_UNSUPPORTED, "memory in space " + std::to_string(a.space) + ", which does not belong to this device");
    return 0;
  }
  if (op.kind == CONSORT_OP_FREE) {
    dev_.give(a.addr->base, a.bytes, stream);
    return 0;
  }
  uint64_t at = 0;
  out.status = dev_.take(a.bytes, stream, &at);
  if (out.status < 0) return 0;
  *a.addr = {at, 0};
  return a.flags & CONSORT_AL_ZERO ? api_.fill(at, 0, 1, a.bytes, stream) : 0;
}

// A launch in the form of the vendor's library: parameters are passed by address, a datum as its pointer, a value as its bytes. On the
// stack of the issuing thread; its pointers refer to the op.
template <class V>
struct Arranged {
  static constexpr uint32_t kMost = 256;
  const Code<V> *code = nullptr;
  uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0}, shared = 0;  // grid[0] 0: an empty launch
  std::array<const void *, kMost> params;
  std::array<uint64_t, kMost> pointers;
  void **list() noexcept { return const_cast<void **>(params.data()); }
};

// Compares the arguments with the kernel's own parameters, if the library reports them. < 0: refused, reason in `why`; *error: the
// library's error, if it refused.
template <class V>
consort_status arrange(const V &api, const consort_launch &l, Arranged<V> &out, int *error, std::string *why) {
  const Code<V> &code = *reinterpret_cast<const Code<V> *>(l.code);
  out.code = &code;
  *error = 0;
  const auto no = [&](consort_status s, const std::string &words) {
    *why = "kernel \"" + code.name + "\": " + words;
    return s;
  };
  constexpr uint32_t kMost = Arranged<V>::kMost;
  if (l.nargs > kMost) return no(CONSORT_E_UNSUPPORTED, std::to_string(l.nargs) + " arguments, " + std::to_string(kMost) + " at most");
  auto &params = out.params;
  auto &pointers = out.pointers;
  uint32_t n = 0;
  uint64_t shared = l.shared_bytes;
  uint32_t regions = l.shared_bytes ? 1 : 0;
  for (uint32_t i = 0; i < l.nargs; ++i) {
    const consort_arg &a = l.args[i];
    uint64_t bytes = a.bytes;
    switch (a.kind) {
      case CONSORT_ARG_ADDR:
        pointers[n] = a.addr.base + a.addr.off;
        params[n] = &pointers[n];
        bytes = sizeof(uint64_t);
        break;
      case CONSORT_ARG_SCALAR: params[n] = &a.scalar; break;
      case CONSORT_ARG_BYTES: params[n] = reinterpret_cast<const void *>(a.scalar); break;
      case CONSORT_ARG_SHARED:
        shared += a.bytes;
        ++regions;
        continue;
      default: return no(CONSORT_E_UNSUPPORTED, "argument of kind " + std::to_string(a.kind) + " is newer than this driver: install its build for this host");
    }
    if (code.knows_params && n < code.params.size() && code.params[n] != bytes)
      return no(CONSORT_E_INVAL, "parameter " + std::to_string(n) + " has " + std::to_string(code.params[n]) + " bytes, but its argument has " +
                                     std::to_string(bytes) + ": declare it with the type of its datum or value (sizes and steps are 64 bits)");
    ++n;
  }
  if (code.knows_params && n != code.params.size())
    return no(CONSORT_E_INVAL, "it has " + std::to_string(code.params.size()) + " parameters, but its data and values make " +
                                   std::to_string(n) + " arguments: declare the layouts' arguments in their order");
  if (regions > 1) return no(CONSORT_E_UNSUPPORTED, "a block has one region of shared memory sized at launch: request one and divide it");

  auto &block = out.block;
  uint64_t threads = 1;
  for (int d = 0; d < 3; ++d) {
    block[d] = l.block[d] ? l.block[d] : 1;
    threads *= block[d];
  }
  uint64_t want[3] = {l.grid[0], l.grid[1], l.grid[2]};
  if (!want[0] || !want[1] || !want[2]) return CONSORT_OK;
  if (threads == 1) code.choose_block(want, block);
  threads = uint64_t{block[0]} * block[1] * block[2];
  if (code.largest && threads > code.largest)
    return no(CONSORT_E_INVAL, "blocks of " + std::to_string(threads) + " threads, " + std::to_string(code.largest) + " at most here: use smaller blocks");
  constexpr uint64_t limits[3] = {0x7fffffff, 0xffff, 0xffff};
  for (int d = 0; d < 3; ++d) {
    if (want[d] > limits[d])
      return no(CONSORT_E_INVAL, "a grid of " + std::to_string(want[d]) + " blocks along dimension " + std::to_string(d) + ", " +
                                     std::to_string(limits[d]) + " at most: use larger blocks, or several elements per thread");
  }
  if (shared > UINT32_MAX) return no(CONSORT_E_INVAL, "more shared memory than the device has");
  if ((*error = code.allow_shared(api, static_cast<uint32_t>(shared))))
    return no(CONSORT_E_INVAL, std::to_string(shared) + " bytes of shared memory are not available: " + api.words(*error));
  out.shared = static_cast<uint32_t>(shared);
  for (int d = 0; d < 3; ++d) out.grid[d] = static_cast<uint32_t>(want[d]);
  return CONSORT_OK;
}

template <class V>
int Lane<V>::launch(const consort_launch &l, typename V::Stream stream, Issued &out) {
  Arranged<V> a;
  int e = 0;
  out.status = arrange(api_, l, a, &e, &out.why);
  if (out.status >= 0 && a.grid[0]) {
    e = api_.launch(a.code->function, a.grid, a.block, a.shared, stream, a.list());
    if (e) refuse(out, V::status_of(e), "kernel \"" + a.code->name + "\" was not launched: " + api_.words(e));
  }
  return V::means_lost(e) ? e : 0;
}

}  // namespace gpu
