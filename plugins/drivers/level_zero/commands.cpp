// commands.cpp — one op as Level Zero commands: copies of up to three dimensions, fills, launches.
//
// Parts of Lane, called by the issuing thread.
#include "commands.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "../streams/copy_shapes.hpp"

namespace level_zero {
namespace {

void *pointer(consort_addr a, uint64_t by = 0) noexcept { return reinterpret_cast<void *>(a.base + a.off + by); }

// Regions have 32-bit fields.
bool fits(uint64_t n) noexcept { return n <= UINT32_MAX; }

// As streams::each_box(), with boxes that fit one command.
template <class F>
bool each_region(const consort_copy &c, F give) {
  return streams::each_box(c, [&](const streams::Box &b) {
    const bool rows = fits(b.run) && fits(b.rows) && fits(b.src_pitch[0]) && fits(b.dst_pitch[0]);
    if (b.rows == 1 || (rows && (b.slices == 1 || (fits(b.slices) && fits(b.src_pitch[1]) && fits(b.dst_pitch[1]))))) return give(b);
    for (uint64_t z = 0; z < b.slices; ++z) {
      const auto at = [&](uint64_t y) {
        return streams::Box{streams::moved(b.src, static_cast<int64_t>(z * b.src_pitch[1] + y * b.src_pitch[0])),
                            streams::moved(b.dst, static_cast<int64_t>(z * b.dst_pitch[1] + y * b.dst_pitch[0])), b.run, 1, 1, {0, 0}, {0, 0}};
      };
      streams::Box slice = at(0);
      if (rows) {
        slice.rows = b.rows;
        slice.src_pitch[0] = b.src_pitch[0], slice.dst_pitch[0] = b.dst_pitch[0];
        if (!give(slice)) return false;
        continue;
      }
      for (uint64_t y = 0; y < b.rows; ++y)
        if (!give(at(y))) return false;
    }
    return true;
  });
}

}  // namespace

void Lane::copy(const consort_copy &c, Commands &out) noexcept {
  const auto refuse = [&] {
    out.refuse(CONSORT_E_UNSUPPORTED, "a copy between spaces " + std::to_string(c.src_space) + " and " + std::to_string(c.dst_space) +
                                          ": it needs two accessible spaces, one of them its own");
  };
  const bool from = dev_.owns(c.src_space), to = dev_.owns(c.dst_space);
  if ((!from && !to) || !dev_.reaches(c.src_space) || !dev_.reaches(c.dst_space)) return refuse();
  if (!streams::bytes_of(c)) {
    out.add([&](ze_event_handle_t s, uint32_t n, ze_event_handle_t *w) { return api_.zeCommandListAppendBarrier(out.list, s, n, w); });
    return;
  }
  uint64_t boxes = 0;
  each_region(c, [&](const streams::Box &) { return ++boxes < 2; });
  if (boxes > 1 && !out.begin()) return;
  const bool good = each_region(c, [&](const streams::Box &b) {
    return out.add([&](ze_event_handle_t signal, uint32_t n, ze_event_handle_t *w) {
      if (b.rows == 1) return api_.zeCommandListAppendMemoryCopy(out.list, pointer(b.dst), pointer(b.src), b.run, signal, n, w);
      const auto u32 = [](uint64_t v) { return static_cast<uint32_t>(v); };
      const ze_copy_region_t region = {0, 0, 0, u32(b.run), u32(b.rows), b.slices > 1 ? u32(b.slices) : 0};
      return api_.zeCommandListAppendMemoryCopyRegion(out.list, pointer(b.dst), &region, u32(b.dst_pitch[0]), u32(b.dst_pitch[1]), pointer(b.src),
                                                      &region, u32(b.src_pitch[0]), u32(b.src_pitch[1]), signal, n, w);
    });
  });
  if (good) out.out.bytes = streams::bytes_of(c);
}

// Engines fill with patterns of certain sizes, at multiples of the size. Remaining bytes are copied from the slot's scratch memory, or all
// bytes if the engine has no pattern of four bytes.
void Lane::fill(const consort_fill &f, Commands &out) noexcept {
  if (!dev_.owns(f.space)) {
    out.refuse(CONSORT_E_UNSUPPORTED, "a fill in space " + std::to_string(f.space) + ", which does not belong to this device");
    return;
  }
  if (!f.run) {
    out.add([&](ze_event_handle_t s, uint32_t n, ze_event_handle_t *w) { return api_.zeCommandListAppendBarrier(out.list, s, n, w); });
    return;
  }
  unsigned char p[4];
  std::memcpy(p, &f.pattern, 4);
  const uint64_t width = p[0] == p[1] && p[1] == p[2] && p[2] == p[3] ? 1 : 4;
  if (pattern_ < width) return fill_by_copies(f, out);
  const uint64_t head = std::min((width - (f.dst.base + f.dst.off) % width) % width, f.run);
  const uint64_t body = (f.run - head) / width * width, tail = f.run - head - body;
  unsigned char *const first = out.out.scratch, *const turned = out.out.scratch + 4;
  std::memcpy(first, p, 4);
  for (uint64_t i = 0; i < 4; ++i) turned[i] = p[(head + i) % 4];
  if ((head ? 1 : 0) + (body ? 1 : 0) + (tail ? 1 : 0) > 1 && !out.begin()) return;
  const auto write = [&](uint64_t at, uint64_t bytes, const unsigned char *what) {
    return !bytes || out.add([&](ze_event_handle_t s, uint32_t n, ze_event_handle_t *w) {
      return api_.zeCommandListAppendMemoryCopy(out.list, pointer(f.dst, at), what, bytes, s, n, w);
    });
  };
  const bool good = write(0, head, first) &&
                    (!body || out.add([&](ze_event_handle_t s, uint32_t n, ze_event_handle_t *w) {
                      return api_.zeCommandListAppendMemoryFill(out.list, pointer(f.dst, head), turned, width, body, s, n, w);
                    })) &&
                    write(head + body, tail, turned);
  if (good) out.out.bytes = f.run;
}

// Copies the pattern once, then doubles the filled part by copying it behind itself.
void Lane::fill_by_copies(const consort_fill &f, Commands &out) noexcept {
  std::memcpy(out.out.scratch, &f.pattern, 4);
  if (f.run > 4 && !out.begin()) return;
  uint64_t there = std::min<uint64_t>(4, f.run);
  bool good = out.add([&](ze_event_handle_t s, uint32_t n, ze_event_handle_t *w) {
    return api_.zeCommandListAppendMemoryCopy(out.list, pointer(f.dst), out.out.scratch, there, s, n, w);
  });
  for (uint64_t more; good && there < f.run; there += more) {
    more = std::min(there, f.run - there);
    good = out.step() && out.add([&](ze_event_handle_t s, uint32_t n, ze_event_handle_t *w) {
      return api_.zeCommandListAppendMemoryCopy(out.list, pointer(f.dst, there), pointer(f.dst), more, s, n, w);
    });
  }
  if (good) out.out.bytes = f.run;
}

// -- launches ---------------------------------------------------------------------------------------------------------

ze_kernel_handle_t Lane::kernel_of(const Code &code, ze_result_t *e) noexcept {
  try {
    if (kernels_.size() <= code.number) kernels_.resize(code.number + 1);
  } catch (const std::bad_alloc &) {
    *e = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    return nullptr;
  }
  ze_kernel_handle_t &k = kernels_[code.number];
  *e = ZE_RESULT_SUCCESS;
  auto desc = typed<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  desc.pKernelName = code.name.c_str();
  if (!k) *e = api_.zeKernelCreate(code.module, &desc, &k);
  if (*e != ZE_RESULT_SUCCESS) k = nullptr;
  return k;
}

// Passes each address as a pointer. If the kernel has one more argument per address, as OpenCL's driver allows, passes the start of
// the memory and a ulong with the offset in bytes.
bool Lane::arguments(const Code &code, const consort_launch &l, ze_kernel_handle_t k, bool *shared, Commands &out) noexcept {
  const auto refuse = [&](consort_status status, const std::string &text) {
    out.refuse(status, "kernel \"" + code.name + "\": " + text);
    return false;
  };
  uint32_t addresses = 0, at = 0;
  for (uint32_t i = 0; i < l.nargs; ++i) addresses += l.args[i].kind == CONSORT_ARG_ADDR;
  const uint32_t plain = l.nargs + (l.shared_bytes ? 1 : 0);
  const bool offsets = addresses && code.nargs == plain + addresses;
  if (!offsets && code.nargs != plain)
    return refuse(CONSORT_E_INVAL, "it has " + std::to_string(code.nargs) + " parameters, but its data and values make " + std::to_string(plain) +
                                       ", or " + std::to_string(plain + addresses) +
                                       " with a ulong offset behind each pointer: declare the layouts' arguments in their order");
  const auto set = [&](size_t bytes, const void *value) {
    const ze_result_t e = api_.zeKernelSetArgumentValue(k, at++, bytes, value);
    if (e == ZE_RESULT_SUCCESS) return true;
    out.error = e;
    return refuse(status_of(e), "argument " + std::to_string(at - 1) + " does not accept " + std::to_string(bytes) + " bytes: " + name(e));
  };
  bool good = true;
  for (uint32_t i = 0; good && i < l.nargs; ++i) {
    const consort_arg &a = l.args[i];
    if (a.kind == CONSORT_ARG_SCALAR) {
      good = set(a.bytes, &a.scalar);
    } else if (a.kind == CONSORT_ARG_BYTES) {
      good = set(a.bytes, reinterpret_cast<const void *>(a.scalar));
    } else if (a.kind == CONSORT_ARG_SHARED) {
      *shared = true;
      good = set(a.bytes, nullptr);
    } else if (a.kind == CONSORT_ARG_ADDR) {
      const void *const p = offsets ? reinterpret_cast<const void *>(a.addr.base) : pointer(a.addr);
      good = set(sizeof p, &p) && (!offsets || set(sizeof a.addr.off, &a.addr.off));
    } else {
      good = refuse(CONSORT_E_UNSUPPORTED, "argument of kind " + std::to_string(a.kind) + " is newer than this driver: install its build for this host");
    }
  }
  if (good && l.shared_bytes) {
    *shared = true;
    good = set(l.shared_bytes, nullptr);
  }
  return good;
}

// For blocks of one work item the device chooses the size, unless local memory is sized for each block.
bool Lane::groups(const Code &code, const consort_launch &l, ze_kernel_handle_t k, bool shared, ze_group_count_t *count, Commands &out) noexcept {
  const auto refuse = [&](consort_status status, const std::string &text) {
    out.refuse(status, "kernel \"" + code.name + "\": " + text);
    return false;
  };
  uint32_t size[3];
  uint64_t blocks[3], group = 1;
  for (int d = 0; d < 3; ++d) {
    size[d] = l.block[d] ? l.block[d] : 1;
    blocks[d] = l.grid[d];
    uint64_t items = 0;
    if (__builtin_mul_overflow(blocks[d], uint64_t{size[d]}, &items)) return refuse(CONSORT_E_INVAL, "a grid of more than 2^64 work items");
    if (__builtin_mul_overflow(group, uint64_t{size[d]}, &group)) group = UINT64_MAX;
  }
  if (group == 1 && !shared && blocks[0] <= UINT32_MAX && blocks[1] <= UINT32_MAX && blocks[2] <= UINT32_MAX) {
    uint32_t want[3] = {1, 1, 1};
    const auto divides = [&] {
      for (int d = 0; d < 3; ++d)
        if (!want[d] || blocks[d] % want[d]) return false;
      return true;
    };
    if (code.required[0]) std::copy_n(code.required, 3, want);
    else if (api_.zeKernelSuggestGroupSize(k, static_cast<uint32_t>(blocks[0]), static_cast<uint32_t>(blocks[1]), static_cast<uint32_t>(blocks[2]),
                                           &want[0], &want[1], &want[2]) != ZE_RESULT_SUCCESS) std::fill_n(want, 3, 1u);
    if (divides())
      for (int d = 0; d < 3; ++d) size[d] = want[d], blocks[d] /= want[d], group *= want[d];
  }
  const ze_device_compute_properties_t &most = dev_.compute;
  const uint32_t most_size[3] = {most.maxGroupSizeX, most.maxGroupSizeY, most.maxGroupSizeZ};
  const uint32_t most_count[3] = {most.maxGroupCountX, most.maxGroupCountY, most.maxGroupCountZ};
  if (group > most.maxTotalGroupSize)
    return refuse(CONSORT_E_INVAL, "blocks of " + std::to_string(group) + " work items, " + std::to_string(most.maxTotalGroupSize) + " at most here: use smaller blocks");
  for (int d = 0; d < 3; ++d) {
    if (size[d] > most_size[d])
      return refuse(CONSORT_E_INVAL, "blocks of " + std::to_string(size[d]) + " work items along " + "xyz"[d] + ", " + std::to_string(most_size[d]) + " at most here: use smaller blocks");
    if (blocks[d] > most_count[d])
      return refuse(CONSORT_E_INVAL, std::to_string(blocks[d]) + " blocks along " + "xyz"[d] + ", " + std::to_string(most_count[d]) + " at most here: use larger blocks");
  }
  *count = {static_cast<uint32_t>(blocks[0]), static_cast<uint32_t>(blocks[1]), static_cast<uint32_t>(blocks[2])};
  const ze_result_t e = api_.zeKernelSetGroupSize(k, size[0], size[1], size[2]);
  if (e == ZE_RESULT_SUCCESS) return true;
  out.error = e;
  return refuse(status_of(e), "blocks of " + std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]) + " were refused: " + name(e));
}

void Lane::launch(const consort_launch &l, Commands &out) noexcept {
  const Code &code = *reinterpret_cast<const Code *>(l.code);
  const ze_kernel_handle_t k = kernel_of(code, &out.error);
  if (!k) return out.refuse(status_of(out.error), "kernel \"" + code.name + "\": cannot be created: " + name(out.error));
  bool shared = false;
  ze_group_count_t count{};
  if (!arguments(code, l, k, &shared, out)) return;
  const bool nothing = !l.grid[0] || !l.grid[1] || !l.grid[2];
  if (!nothing && !groups(code, l, k, shared, &count, out)) return;
  if (!out.add([&](ze_event_handle_t signal, uint32_t n, ze_event_handle_t *w) {
        if (nothing) return api_.zeCommandListAppendBarrier(out.list, signal, n, w);
        return api_.zeCommandListAppendLaunchKernel(out.list, k, &count, signal, n, w);
      }))
    out.refuse(status_of(out.error), "kernel \"" + code.name + "\": was not launched: " + name(out.error));
}

}  // namespace level_zero
