// commands.cpp — one op as OpenCL commands: copies of up to three dimensions, fills, launches.
//
// Parts of Lane, called by the issuing thread.
#include <cstring>
#include <new>

#include "../streams/copy_shapes.hpp"
#include "commands.hpp"

namespace opencl {
namespace {

cl_mem object(consort_addr a) noexcept { return reinterpret_cast<cl_mem>(a.base); }
char *pointer(consort_addr a) noexcept { return reinterpret_cast<char *>(a.base + a.off); }

}  // namespace

void Lane::copy(const consort_copy &c, Commands &out) {
  const bool from = dev_.owns(c.src_space), to = dev_.owns(c.dst_space);
  if (!from && !to) {
    out.out.status = dev_.fail(CONSORT_E_UNSUPPORTED, "a copy between spaces " + std::to_string(c.src_space) + " and " +
                                                          std::to_string(c.dst_space) + ", neither of which belongs to this device");
    return;
  }
  if (!streams::bytes_of(c)) {
    out.add([&](cl_uint n, const cl_event *w, cl_event *e) { return api_.clEnqueueMarkerWithWaitList(cq_, n, w, e); });
    return;
  }
  const auto line = [&](const streams::Box &b) {
    return out.add([&](cl_uint n, const cl_event *w, cl_event *e) {
      if (from && to) return api_.clEnqueueCopyBuffer(cq_, object(b.src), object(b.dst), b.src.off, b.dst.off, b.run, n, w, e);
      if (to) return api_.clEnqueueWriteBuffer(cq_, object(b.dst), CL_FALSE, b.dst.off, b.run, pointer(b.src), n, w, e);
      return api_.clEnqueueReadBuffer(cq_, object(b.src), CL_FALSE, b.src.off, b.run, pointer(b.dst), n, w, e);
    });
  };
  const auto box = [&](const streams::Box &b) {
    if (b.rows == 1) return line(b);
    const size_t region[3] = {b.run, b.rows, b.slices}, zero[3] = {0, 0, 0};
    const auto &sp = b.src_pitch, &dp = b.dst_pitch;
    // Splits the offset into slices, rows and bytes by the buffer's pitches.
    const auto origin = [](uint64_t off, const uint64_t *pitch, size_t *at) {
      at[2] = pitch[1] ? off / pitch[1] : 0;
      off -= at[2] * pitch[1];
      at[1] = off / pitch[0];
      at[0] = off - at[1] * pitch[0];
    };
    size_t s[3], d[3];
    origin(b.src.off, sp, s);
    origin(b.dst.off, dp, d);
    return out.add([&](cl_uint n, const cl_event *w, cl_event *e) {
      if (from && to)
        return api_.clEnqueueCopyBufferRect(cq_, object(b.src), object(b.dst), s, d, region, sp[0], sp[1], dp[0], dp[1], n, w, e);
      if (to)
        return api_.clEnqueueWriteBufferRect(cq_, object(b.dst), CL_FALSE, d, zero, region, dp[0], dp[1], sp[0], sp[1],
                                             pointer(b.src), n, w, e);
      return api_.clEnqueueReadBufferRect(cq_, object(b.src), CL_FALSE, s, zero, region, sp[0], sp[1], dp[0], dp[1],
                                          pointer(b.dst), n, w, e);
    });
  };
  if (streams::each_box(c, box)) out.out.bytes = streams::bytes_of(c);
}

// A fill writes whole patterns at multiples of their size; partial patterns at both ends are written from the slot's scratch memory.
void Lane::fill(const consort_fill &f, Commands &out) {
  if (!dev_.owns(f.space)) {
    out.out.status = dev_.fail(CONSORT_E_UNSUPPORTED, "a fill in space " + std::to_string(f.space) + ", which does not belong to this device");
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
  unsigned char *const first = out.out.scratch, *const last = out.out.scratch + 4, turned[4] = {p[head % 4], p[(head + 1) % 4], p[(head + 2) % 4], p[(head + 3) % 4]};
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
  if (good) out.out.bytes = f.run;
}

cl_kernel Lane::kernel_of(const Code &code, cl_int *e) noexcept {
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

// Passes each address as its buffer and, if the kernel has one more argument per address, a ulong with the offset in
// bytes. Otherwise passes a sub-buffer unless the address is the buffer's start.
void Lane::launch(const consort_launch &l, Commands &out) {
  const Code &code = *reinterpret_cast<const Code *>(l.code);
  const auto refuse = [&](consort_status status, const std::string &text) {
    out.out.why = "kernel \"" + code.name + "\": " + text;
    out.out.status = status;
  };
  cl_int e = CL_SUCCESS;
  const cl_kernel k = kernel_of(code, &e);
  if (!k || e != CL_SUCCESS) return refuse(status_of(e), std::string("cannot be created: ") + name(e));

  uint32_t addresses = 0;
  for (uint32_t i = 0; i < l.nargs; ++i) addresses += l.args[i].kind == CONSORT_ARG_ADDR;
  const uint32_t plain = l.nargs + (l.shared_bytes ? 1 : 0);
  const bool offsets = code.nargs == plain + addresses;
  if (!offsets && code.nargs != plain)
    return refuse(CONSORT_E_INVAL, "it has " + std::to_string(code.nargs) + " parameters, but its data and values make " +
                                       std::to_string(plain) + ", or " + std::to_string(plain + addresses) +
                                       " with a ulong offset behind each pointer: declare the layouts' arguments in their order");
  cl_mem parts[16];  // sub-buffers; the command retains them
  uint32_t nparts = 0, at = 0;
  bool good = true;
  const auto set = [&](size_t bytes, const void *value) {
    const cl_int status = api_.clSetKernelArg(k, at, bytes, value);
    if (status != CL_SUCCESS && good) {
      refuse(status_of(status), "argument " + std::to_string(at) + " does not accept " + std::to_string(bytes) + " bytes: " + name(status));
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
        // A buffer of the application may be a sub-buffer, which cannot be divided again.
        if (const auto whole = value_of<cl_mem>(api_.clGetMemObjectInfo, mem, CL_MEM_ASSOCIATED_MEMOBJECT)) {
          part.origin += value_of<size_t>(api_.clGetMemObjectInfo, mem, CL_MEM_OFFSET);
          mem = whole;
        }
        if (part.origin % dev_.base_align == 0 && nparts < 16)
          mem = api_.clCreateSubBuffer(mem, 0, CL_BUFFER_CREATE_TYPE_REGION, &part, &status);
        if (status != CL_SUCCESS) {
          refuse(CONSORT_E_UNSUPPORTED, "a datum begins at byte " + std::to_string(a.addr.off) + " of its buffer, where no sub-buffer can begin (" +
                                            name(status) + "): declare a ulong behind each pointer for the offset in bytes");
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
    good = (refuse(CONSORT_E_INVAL, "blocks of " + std::to_string(group) + " work items, " + std::to_string(code.largest) + " at most here: use smaller blocks"), false);
  if (good)
    if (!out.add([&](cl_uint n, const cl_event *w, cl_event *ev) {
          if (nothing) return api_.clEnqueueMarkerWithWaitList(cq_, n, w, ev);
          return api_.clEnqueueNDRangeKernel(cq_, k, dims, nullptr, global, group > 1 ? local : nullptr, n, w, ev);
        }))
      refuse(status_of(out.error), std::string("was not launched: ") + name(out.error));
  for (uint32_t i = 0; i < nparts; ++i) api_.clReleaseMemObject(parts[i]);
}

}  // namespace opencl
