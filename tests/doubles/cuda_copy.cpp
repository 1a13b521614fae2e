// Copies and fills.
#include <cstring>

#include "cuda_kernel.hpp"

using namespace gpu;

namespace {

CUresult flat(const char *name, uint64_t dst, uint64_t src, size_t bytes, bool dst_device, bool src_device,
              CUstream where, bool wait) {
  return cu(name, Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    if (wait) {
      refuse_capturing();
    }
    if (bytes) {
      need(address(dst));
      need(address(src));
    }
    transfer(c, stream, line(dst, src, bytes, dst_device, src_device), wait);
  });
}

// Where one side of a box of bytes begins.
uint64_t side(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t z, size_t pitch,
              size_t rows, bool &is_device) {
  if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) {
    fail(type == CU_MEMORYTYPE_ARRAY ? not_supported : invalid_value);
  }
  uint64_t base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
  is_device = type == CU_MEMORYTYPE_DEVICE;
  need(address(base));
  return base + z * pitch * rows + y * pitch + x;
}

template <class Box>
Copy boxed(const Box &box) {  // CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have these members in common
  Copy copy;
  copy.width = box.WidthInBytes;
  copy.height = box.Height;
  copy.depth = box.Depth;
  auto pitch = [&](size_t given, size_t x) { return given ? given : x + box.WidthInBytes; };
  auto rows = [&](size_t given, size_t y) { return given ? given : y + box.Height; };
  copy.src_pitch = pitch(box.srcPitch, box.srcXInBytes);
  copy.dst_pitch = pitch(box.dstPitch, box.dstXInBytes);
  size_t src_rows = rows(box.srcHeight, box.srcY), dst_rows = rows(box.dstHeight, box.dstY);
  copy.src_plane = copy.src_pitch * src_rows;
  copy.dst_plane = copy.dst_pitch * dst_rows;
  if ((box.Height > 1 || box.Depth > 1) &&
      (copy.src_pitch < box.WidthInBytes + box.srcXInBytes || copy.dst_pitch < box.WidthInBytes + box.dstXInBytes)) {
    machine().violate("a box of bytes is wider than the pitch of the memory that it is in");
    fail(invalid_value);
  }
  if (copy.bytes() == 0) {
    return copy;
  }
  copy.src = side(box.srcMemoryType, box.srcHost, box.srcDevice, box.srcXInBytes, box.srcY, box.srcZ, copy.src_pitch,
                  src_rows, copy.src_device);
  copy.dst = side(box.dstMemoryType, box.dstHost, box.dstDevice, box.dstXInBytes, box.dstY, box.dstZ, copy.dst_pitch,
                  dst_rows, copy.dst_device);
  return copy;
}

CUDA_MEMCPY3D of_2d(const CUDA_MEMCPY2D &flat) {
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = flat.srcXInBytes;
  box.srcY = flat.srcY;
  box.srcMemoryType = flat.srcMemoryType;
  box.srcHost = flat.srcHost;
  box.srcDevice = flat.srcDevice;
  box.srcPitch = flat.srcPitch;
  box.dstXInBytes = flat.dstXInBytes;
  box.dstY = flat.dstY;
  box.dstMemoryType = flat.dstMemoryType;
  box.dstHost = flat.dstHost;
  box.dstDevice = flat.dstDevice;
  box.dstPitch = flat.dstPitch;
  box.WidthInBytes = flat.WidthInBytes;
  box.Height = flat.Height;
  box.Depth = 1;
  return box;
}

template <class Box>
CUresult box(const char *name, const Box *given, CUstream where, bool wait) {
  return cu(name, Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    need(given);
    if (wait) {
      refuse_capturing();
    }
    if constexpr (requires { given->srcContext; }) {
      for (auto context : {given->srcContext, given->dstContext}) {
        if (context) {
          healthy(*context_at(context));
        }
      }
    }
    if constexpr (requires { given->Depth; }) {
      transfer(c, stream, boxed(*given), wait);
    } else {
      transfer(c, stream, boxed(of_2d(*given)), wait);
    }
  });
}

CUresult between(const char *name, CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes,
                 CUstream where, bool wait) {
  return cu(name, Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    auto check = [](CUdeviceptr at, CUcontext context, const char *what) {
      auto of = context_at(context);
      healthy(*of);
      auto block = machine().memory.find(at);
      if (block && block->where == Where::device && block->device != of->device.index) {
        machine().violate(std::string(what) + " is on device " + std::to_string(block->device) +
                          ", its context on another");
        fail(invalid_value);
      }
    };
    check(dst, to, "the target of a copy");
    check(src, from, "the source of a copy");
    transfer(c, stream, line(dst, src, bytes, true, true), wait);
  });
}

CUresult fill(const char *name, CUdeviceptr dst, size_t pitch, unsigned value, unsigned element, size_t width,
              size_t height, CUstream where, bool wait) {
  return cu(name, Need::context, [&](Call &c) {
    auto stream = stream_of(where, c.context, true);
    if (wait) {
      refuse_capturing();
    }
    if (width == 0 || height == 0) {
      return;
    }
    if (dst % element || (height > 1 && (pitch < width * element || pitch % element))) {
      machine().violate("a fill begins at an address, or has a pitch, that its elements do not go with");
      fail(invalid_value);
    }
    Fill all;
    all.dst = dst;
    all.value = value;
    all.element = element;
    all.width = width;
    all.height = height;
    all.pitch = height > 1 ? pitch : width * element;
    uint64_t serial = submit(stream, all);
    if (wait) {
      wait_done(c.lock, stream, serial);
      healthy(*stream->context);
    }
  });
}

uint64_t host(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

Copy gpu::copy_of(const CUDA_MEMCPY3D &box) { return boxed(box); }

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return flat("cuMemcpy", dst, src, bytes, false, false, nullptr, true);
}
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return flat("cuMemcpyAsync", dst, src, bytes, false, false, stream, false);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes) {
  return flat("cuMemcpyHtoD", dst, host(src), bytes, true, false, nullptr, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream) {
  return flat("cuMemcpyHtoDAsync", dst, host(src), bytes, true, false, stream, false);
}
CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes) {
  return flat("cuMemcpyDtoH", host(dst), src, bytes, false, true, nullptr, true);
}
CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return flat("cuMemcpyDtoHAsync", host(dst), src, bytes, false, true, stream, false);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes) {
  return flat("cuMemcpyDtoD", dst, src, bytes, true, true, nullptr, true);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream) {
  return flat("cuMemcpyDtoDAsync", dst, src, bytes, true, true, stream, false);
}
CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes) {
  return between("cuMemcpyPeer", dst, to, src, from, bytes, nullptr, true);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t bytes,
                           CUstream stream) {
  return between("cuMemcpyPeerAsync", dst, to, src, from, bytes, stream, false);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) { return box("cuMemcpy2D", copy, nullptr, true); }
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy) { return box("cuMemcpy2DUnaligned", copy, nullptr, true); }
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
  return box("cuMemcpy2DAsync", copy, stream, false);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy) { return box("cuMemcpy3D", copy, nullptr, true); }
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
  return box("cuMemcpy3DAsync", copy, stream, false);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) { return box("cuMemcpy3DPeer", copy, nullptr, true); }
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) {
  return box("cuMemcpy3DPeerAsync", copy, stream, false);
}

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count) {
  return fill("cuMemsetD8", dst, 0, value, 1, count, 1, nullptr, true);
}
CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count) {
  return fill("cuMemsetD16", dst, 0, value, 2, count, 1, nullptr, true);
}
CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count) {
  return fill("cuMemsetD32", dst, 0, value, 4, count, 1, nullptr, true);
}
CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count, CUstream stream) {
  return fill("cuMemsetD8Async", dst, 0, value, 1, count, 1, stream, false);
}
CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count, CUstream stream) {
  return fill("cuMemsetD16Async", dst, 0, value, 2, count, 1, stream, false);
}
CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count, CUstream stream) {
  return fill("cuMemsetD32Async", dst, 0, value, 4, count, 1, stream, false);
}
CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  return fill("cuMemsetD2D8Async", dst, pitch, value, 1, width, height, stream, false);
}
CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  return fill("cuMemsetD2D16Async", dst, pitch, value, 2, width, height, stream, false);
}
CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
  return fill("cuMemsetD2D32Async", dst, pitch, value, 4, width, height, stream, false);
}
