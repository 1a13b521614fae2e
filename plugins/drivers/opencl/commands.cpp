// commands.cpp — what one op is in OpenCL's commands: copies of up to three dimensions, fills, launches.
//
// Parts of Queue, for whoever issues on it just now.
#include <cstring>
#include <new>

#include "commands.hpp"

namespace opencl {
namespace {

cl_mem object(consort_addr a) noexcept { return reinterpret_cast<cl_mem>(a.base); }
char *pointer(consort_addr a) noexcept { return reinterpret_cast<char *>(a.base + a.off); }
consort_addr moved(consort_addr a, int64_t by) noexcept { return {a.base, a.off + static_cast<uint64_t>(by)}; }

}  // namespace

// One run of bytes, rows of them, or slices of rows: as large a box as its steps allow for one command.
void Queue::copy(const consort_copy &c, Commands &out) noexcept {
  const bool from = dev_.owns(c.src_space), to = dev_.owns(c.dst_space);
  if (!from && !to) {
    out.status = dev_.fail(CONSORT_E_UNSUPPORTED, "a copy between spaces " + std::to_string(c.src_space) + " and " +
                                                      std::to_string(c.dst_space) + ", neither of which is its own");
    return;
  }
  if (!c.run || !c.n[0] || !c.n[1]) {
    out.add([&](cl_uint n, const cl_event *w, cl_event *e) { return api_.clEnqueueMarkerWithWaitList(cq_, n, w, e); });
    return;
  }
  const auto line = [&](consort_addr src, consort_addr dst, uint64_t bytes) {
    return out.add([&](cl_uint n, const cl_event *w, cl_event *e) {
      if (from && to) return api_.clEnqueueCopyBuffer(cq_, object(src), object(dst), src.off, dst.off, bytes, n, w, e);
      if (to) return api_.clEnqueueWriteBuffer(cq_, object(dst), CL_FALSE, dst.off, bytes, pointer(src), n, w, e);
      return api_.clEnqueueReadBuffer(cq_, object(src), CL_FALSE, src.off, bytes, pointer(dst), n, w, e);
    });
  };
  const auto box = [&](consort_addr src, consort_addr dst, uint64_t rows, uint64_t slices) {
    const size_t region[3] = {c.run, rows, slices}, zero[3] = {0, 0, 0};
    const size_t sp[2] = {static_cast<size_t>(c.src_step[0]), slices > 1 ? static_cast<size_t>(c.src_step[1]) : 0};
    const size_t dp[2] = {static_cast<size_t>(c.dst_step[0]), slices > 1 ? static_cast<size_t>(c.dst_step[1]) : 0};
    // The offset as slices, rows and bytes of the buffer's own pitches.
    const auto origin = [](uint64_t off, const size_t *pitch, size_t *at) {
      at[2] = pitch[1] ? off / pitch[1] : 0;
      off -= at[2] * pitch[1];
      at[1] = off / pitch[0];
      at[0] = off - at[1] * pitch[0];
    };
    size_t s[3], d[3];
    origin(src.off, sp, s);
    origin(dst.off, dp, d);
    return out.add([&](cl_uint n, const cl_event *w, cl_event *e) {
      if (from && to)
        return api_.clEnqueueCopyBufferRect(cq_, object(src), object(dst), s, d, region, sp[0], sp[1], dp[0], dp[1], n, w, e);
      if (to)
        return api_.clEnqueueWriteBufferRect(cq_, object(dst), CL_FALSE, d, zero, region, dp[0], dp[1], sp[0], sp[1],
                                             pointer(src), n, w, e);
      return api_.clEnqueueReadBufferRect(cq_, object(src), CL_FALSE, s, zero, region, sp[0], sp[1], dp[0], dp[1],
                                          pointer(dst), n, w, e);
    });
  };
  const auto run = static_cast<int64_t>(c.run), rows = static_cast<int64_t>(c.n[0]);
  const auto fits_rows = [&](const int64_t *step) { return step[0] >= run; };
  const auto fits_slices = [&](const int64_t *step) { return step[1] >= step[0] * rows && step[1] % step[0] == 0; };
  const bool by_rows = c.n[0] > 1 && fits_rows(c.src_step) && fits_rows(c.dst_step);
  const bool whole = by_rows && c.n[1] > 1 && fits_slices(c.src_step) && fits_slices(c.dst_step);
  bool good = true;
  if (whole) {
    good = box(c.src, c.dst, c.n[0], c.n[1]);
  } else {
    for (uint64_t z = 0; good && z < c.n[1]; ++z) {
      const auto k = static_cast<int64_t>(z);
      const consort_addr src = moved(c.src, k * c.src_step[1]), dst = moved(c.dst, k * c.dst_step[1]);
      if (by_rows) {
        good = box(src, dst, c.n[0], 1);
        continue;
      }
      for (int64_t y = 0; good && y < rows; ++y) good = line(moved(src, y * c.src_step[0]), moved(dst, y * c.dst_step[0]), c.run);
    }
  }
  if (good) out.bytes = c.run * c.n[0] * c.n[1];
}

// Commands take whole patterns at multiples of their size: what sticks out at both ends is written from the slot.
void Queue::fill(const consort_fill &f, Slot &s, Commands &out) noexcept {
  if (!dev_.owns(f.space)) {
    out.status = dev_.fail(CONSORT_E_UNSUPPORTED, "a fill in space " + std::to_string(f.space) + ", which is not its own");
    return;
  }
  if (!f.run) {
    out.add([&](cl_uint n, const cl_event *w, cl_event *e) { return api_.clEnqueueMarkerWithWaitList(cq_, n, w, e); });
    return;
  }
  unsigned char p[4];
  std::memcpy(p, &f.pattern, 4);
  const uint64_t width = p[0] == p[1] && p[1] == p[2] && p[2] == p[3] ? 1 : 4;
  uint64_t head = (width - f.dst.off % width) % width;
  if (head > f.run) head = f.run;
  const uint64_t body = (f.run - head) / width * width, tail = f.run - head - body;
  unsigned char *const first = s.scratch, *const last = s.scratch + 4, turned[4] = {p[head % 4], p[(head + 1) % 4], p[(head + 2) % 4], p[(head + 3) % 4]};
  std::memcpy(first, p, 4);
  std::memcpy(last, turned, 4);
  bool good = true;
  const auto write = [&](uint64_t at, uint64_t bytes, const unsigned char *what) {
    if (good && bytes)
      good = out.add([&](cl_uint n, const cl_event *w, cl_event *e) {
        return api_.clEnqueueWriteBuffer(cq_, object(f.dst), CL_FALSE, f.dst.off + at, bytes, what, n, w, e);
      });
  };
  write(0, head, first);
  if (good && body)
    good = out.add([&](cl_uint n, const cl_event *w, cl_event *e) {
      return api_.clEnqueueFillBuffer(cq_, object(f.dst), turned, width, f.dst.off + head, body, n, w, e);
    });
  write(head + body, tail, last);
  if (good) out.bytes = f.run;
}

cl_kernel Queue::kernel_of(const Code &code, cl_int *e) noexcept {
  try {
    if (kernels_.size() <= code.number) kernels_.resize(code.number + 1);
  } catch (const std::bad_alloc &) {
    *e = CL_OUT_OF_HOST_MEMORY;
    return nullptr;
  }
  cl_kernel &k = kernels_[code.number];
  *e = CL_SUCCESS;
  if (!k) k = api_.clCreateKernel(code.program, code.name.c_str(), e);
  return k;
}

// A kernel takes each address as its buffer and, where it has an argument more for each, a ulong with the offset in
// bytes. One that has not gets a sub-buffer where the address is not the buffer's own.
void Queue::launch(const consort_launch &l, Commands &out) noexcept {
  const Code &code = *reinterpret_cast<const Code *>(l.code);
  const auto refuse = [&](consort_status status, const std::string &text) {
    out.why = "kernel \"" + code.name + "\": " + text;
    out.status = status;
  };
  cl_int e = CL_SUCCESS;
  const cl_kernel k = kernel_of(code, &e);
  if (!k || e != CL_SUCCESS) return refuse(status_of(e), std::string("cannot be created: ") + name(e));

  uint32_t addresses = 0;
  for (uint32_t i = 0; i < l.nargs; ++i) addresses += l.args[i].kind == CONSORT_ARG_ADDR;
  const uint32_t plain = l.nargs + (l.shared_bytes ? 1 : 0);
  const bool offsets = code.nargs == plain + addresses;
  if (!offsets && code.nargs != plain)
    return refuse(CONSORT_E_INVAL, "it takes " + std::to_string(code.nargs) + " arguments, but its data and values make " +
                                       std::to_string(plain) + ", or " + std::to_string(plain + addresses) +
                                       " with a ulong offset behind each pointer: declare what the layouts give, in their order");
  cl_mem parts[16];  // sub-buffers; the command keeps what it uses
  uint32_t nparts = 0, at = 0;
  bool good = true;
  const auto set = [&](size_t bytes, const void *value) {
    const cl_int status = api_.clSetKernelArg(k, at, bytes, value);
    if (status != CL_SUCCESS && good) {
      refuse(status_of(status), "argument " + std::to_string(at) + " does not take the " + std::to_string(bytes) + " bytes that it is given: " + name(status));
      good = false;
    }
    ++at;
  };
  for (uint32_t i = 0; good && i < l.nargs; ++i) {
    const consort_arg &a = l.args[i];
    if (a.kind == CONSORT_ARG_SCALAR) {
      set(a.bytes, &a.scalar);
    } else if (a.kind == CONSORT_ARG_BYTES) {
      set(a.bytes, reinterpret_cast<const void *>(a.scalar));
    } else if (a.kind == CONSORT_ARG_SHARED) {
      set(a.bytes, nullptr);
    } else if (a.kind == CONSORT_ARG_ADDR) {
      cl_mem mem = object(a.addr);
      if (!offsets && a.addr.off && a.extent) {
        cl_buffer_region part = {a.addr.off, a.extent};
        cl_int status = CL_MISALIGNED_SUB_BUFFER_OFFSET;
        // The application's own may be a sub-buffer, and there are none of those.
        if (const auto whole = value_of<cl_mem>(api_.clGetMemObjectInfo, mem, CL_MEM_ASSOCIATED_MEMOBJECT)) {
          part.origin += value_of<size_t>(api_.clGetMemObjectInfo, mem, CL_MEM_OFFSET);
          mem = whole;
        }
        if (part.origin % dev_.base_align == 0 && nparts < 16)
          mem = api_.clCreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, &status);
        if (status != CL_SUCCESS) {
          refuse(CONSORT_E_UNSUPPORTED, "datum at byte " + std::to_string(a.addr.off) + " of its buffer, and no sub-buffer can begin there (" +
                                            name(status) + "): declare a ulong behind each pointer, it gets the offset in bytes");
          good = false;
          break;
        }
        parts[nparts++] = mem;
      }
      set(sizeof mem, &mem);
      const cl_ulong off = a.addr.off;
      if (offsets) set(sizeof off, &off);
    } else {
      refuse(CONSORT_E_UNSUPPORTED, "argument of kind " + std::to_string(a.kind) + " is newer than this driver: install its build for this host");
      good = false;
    }
  }
  if (good && l.shared_bytes) set(l.shared_bytes, nullptr);

  size_t global[3], local[3], group = 1;
  cl_uint dims = 3;
  bool nothing = false;
  for (int d = 0; d < 3; ++d) {
    local[d] = l.block[d] ? l.block[d] : 1;
    group *= local[d];
    if (__builtin_mul_overflow(l.grid[d], local[d], &global[d])) good = (refuse(CONSORT_E_INVAL, "a grid of more than 2^64 work items"), false);
    nothing |= global[d] == 0;
  }
  while (dims > 1 && global[dims - 1] == 1) --dims;
  if (good && code.largest && group > code.largest)
    good = (refuse(CONSORT_E_INVAL, "blocks of " + std::to_string(group) + " work items, " + std::to_string(code.largest) + " are the most here: make them smaller"), false);
  if (good)
    if (!out.add([&](cl_uint n, const cl_event *w, cl_event *ev) {
          if (nothing) return api_.clEnqueueMarkerWithWaitList(cq_, n, w, ev);
          return api_.clEnqueueNDRangeKernel(cq_, k, dims, nullptr, global, group > 1 ? local : nullptr, n, w, ev);
        }))
      refuse(status_of(out.error), std::string("was not launched: ") + name(out.error));
  for (uint32_t i = 0; i < nparts; ++i) api_.clReleaseMemObject(parts[i]);
}

}  // namespace opencl
