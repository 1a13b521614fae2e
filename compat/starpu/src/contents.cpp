// Contents as bytes: packing, and the copies that interfaces are made of.
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "layouts.hpp"

using namespace starpu_layer;

int starpu_data_pack(starpu_data_handle_t handle, void **ptr, starpu_ssize_t *count) {
  const AnyLayout &view = local(handle);
  const uint64_t bytes = bytes_of(view);
  *count = static_cast<starpu_ssize_t>(bytes);
  if (!ptr) return 0;
  *ptr = std::malloc(bytes ? bytes : 1);
  if (!*ptr) return -ENOMEM;
  copy_packed(view, static_cast<char *>(*ptr), true);
  return 0;
}

int starpu_data_unpack(starpu_data_handle_t handle, void *ptr, size_t count) {
  const AnyLayout &view = local(handle);
  if (count != bytes_of(view)) return -EINVAL;
  copy_packed(view, static_cast<char *>(ptr), false);
  std::free(ptr);
  return 0;
}

int starpu_interface_copy(uintptr_t src, size_t src_offset, unsigned, uintptr_t dst, size_t dst_offset, unsigned,
                          size_t size, void *) {
  std::memcpy(reinterpret_cast<char *>(dst) + dst_offset, reinterpret_cast<const char *>(src) + src_offset, size);
  return 0;
}

int starpu_interface_copy2d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst, size_t dst_offset,
                            unsigned dst_node, size_t blocksize, size_t numblocks, size_t ld_src, size_t ld_dst,
                            void *async_data) {
  for (size_t i = 0; i < numblocks; ++i)
    starpu_interface_copy(src, src_offset + i * ld_src, src_node, dst, dst_offset + i * ld_dst, dst_node, blocksize,
                          async_data);
  return 0;
}

int starpu_interface_copy3d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst, size_t dst_offset,
                            unsigned dst_node, size_t blocksize, size_t numblocks1, size_t ld1_src, size_t ld1_dst,
                            size_t numblocks2, size_t ld2_src, size_t ld2_dst, void *async_data) {
  for (size_t i = 0; i < numblocks2; ++i)
    starpu_interface_copy2d(src, src_offset + i * ld2_src, src_node, dst, dst_offset + i * ld2_dst, dst_node, blocksize,
                            numblocks1, ld1_src, ld1_dst, async_data);
  return 0;
}

int starpu_interface_copy4d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst, size_t dst_offset,
                            unsigned dst_node, size_t blocksize, size_t numblocks1, size_t ld1_src, size_t ld1_dst,
                            size_t numblocks2, size_t ld2_src, size_t ld2_dst, size_t numblocks3, size_t ld3_src,
                            size_t ld3_dst, void *async_data) {
  for (size_t i = 0; i < numblocks3; ++i)
    starpu_interface_copy3d(src, src_offset + i * ld3_src, src_node, dst, dst_offset + i * ld3_dst, dst_node, blocksize,
                            numblocks1, ld1_src, ld1_dst, numblocks2, ld2_src, ld2_dst, async_data);
  return 0;
}
