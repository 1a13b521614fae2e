// The functions of the interfaces.
#include "layouts.hpp"

#include <cstdio>
#include <cstring>

#include "filters.hpp"

namespace starpu_layer {
namespace {

const AnyLayout &any(const void *p) { return *static_cast<const AnyLayout *>(p); }
AnyLayout &any(void *p) { return *static_cast<AnyLayout *>(p); }

consort_addr at(uintptr_t ptr) { return {ptr, 0}; }

// What all dense structs begin with.
struct DenseHead {
  enum starpu_data_interface_id id;
  uintptr_t ptr, dev_handle;
  size_t offset;
};
static_assert(offsetof(DenseHead, offset) == offsetof(starpu_block_interface, offset) &&
              offsetof(DenseHead, offset) == offsetof(starpu_variable_interface, offset) &&
              offsetof(DenseHead, offset) == offsetof(starpu_vector_interface, offset) &&
              offsetof(DenseHead, offset) == offsetof(starpu_matrix_interface, offset));

DenseHead &head(AnyLayout &l) { return reinterpret_cast<DenseHead &>(l); }
const DenseHead &head(const AnyLayout &l) { return reinterpret_cast<const DenseHead &>(l); }

// Bytes of the three arrays of a sparse layout.
void sparse_bytes(const AnyLayout &l, uint64_t *out) {
  switch (l.id) {
    case STARPU_CSR_INTERFACE_ID:
      out[0] = uint64_t{l.csr.nnz} * l.csr.elemsize;
      out[1] = uint64_t{l.csr.nnz} * sizeof(uint32_t);
      out[2] = (uint64_t{l.csr.nrow} + 1) * sizeof(uint32_t);
      break;
    case STARPU_BCSR_INTERFACE_ID:
      out[0] = uint64_t{l.bcsr.nnz} * l.bcsr.r * l.bcsr.c * l.bcsr.elemsize;
      out[1] = uint64_t{l.bcsr.nnz} * sizeof(uint32_t);
      out[2] = (uint64_t{l.bcsr.nrow} + 1) * sizeof(uint32_t);
      break;
    case STARPU_COO_INTERFACE_ID:
      out[0] = uint64_t{l.coo.n_values} * l.coo.elemsize;
      out[1] = out[2] = uint64_t{l.coo.n_values} * sizeof(uint32_t);
      break;
    default: out[0] = out[1] = out[2] = 0;
  }
}

void put_addresses(AnyLayout &l, const uintptr_t *p) {
  switch (l.id) {
    case STARPU_CSR_INTERFACE_ID:
      l.csr.nzval = p[0];
      l.csr.colind = reinterpret_cast<uint32_t *>(p[1]);
      l.csr.rowptr = reinterpret_cast<uint32_t *>(p[2]);
      break;
    case STARPU_BCSR_INTERFACE_ID:
      l.bcsr.nzval = p[0];
      l.bcsr.colind = reinterpret_cast<uint32_t *>(p[1]);
      l.bcsr.rowptr = reinterpret_cast<uint32_t *>(p[2]);
      break;
    case STARPU_COO_INTERFACE_ID:
      l.coo.values = p[0];
      l.coo.columns = reinterpret_cast<uint32_t *>(p[1]);
      l.coo.rows = reinterpret_cast<uint32_t *>(p[2]);
      break;
    default: break;
  }
}

void addresses(const AnyLayout &l, uintptr_t *p) {
  switch (l.id) {
    case STARPU_CSR_INTERFACE_ID:
      p[0] = l.csr.nzval;
      p[1] = reinterpret_cast<uintptr_t>(l.csr.colind);
      p[2] = reinterpret_cast<uintptr_t>(l.csr.rowptr);
      break;
    case STARPU_BCSR_INTERFACE_ID:
      p[0] = l.bcsr.nzval;
      p[1] = reinterpret_cast<uintptr_t>(l.bcsr.colind);
      p[2] = reinterpret_cast<uintptr_t>(l.bcsr.rowptr);
      break;
    case STARPU_COO_INTERFACE_ID:
      p[0] = l.coo.values;
      p[1] = reinterpret_cast<uintptr_t>(l.coo.columns);
      p[2] = reinterpret_cast<uintptr_t>(l.coo.rows);
      break;
    default: p[0] = p[1] = p[2] = 0;
  }
}

// A replica that the runtime allocates is packed.
void pack_steps(AnyLayout &l) {
  if (l.id == STARPU_MATRIX_INTERFACE_ID) l.matrix.ld = l.matrix.nx;
  if (l.id != STARPU_BLOCK_INTERFACE_ID) return;
  l.block.ldy = l.block.nx;
  l.block.ldz = l.block.nx * l.block.ny;
}

consort_status shape(const void *user, uint64_t n, void *out, void *home) {
  if (!user || n < sizeof(enum starpu_data_interface_id)) return CONSORT_E_INVAL;
  const uint32_t size = size_of(any(user).id);
  if (!size || n != size) return CONSORT_E_INVAL;
  std::memcpy(home, user, size);
  std::memcpy(out, user, size);
  const uintptr_t none[3] = {};
  put_addresses(any(out), none);
  if (is_dense(any(out))) head(any(out)).ptr = head(any(out)).dev_handle = head(any(out)).offset = 0;
  return CONSORT_OK;
}

uint64_t footprint(const void *p) {
  const AnyLayout &l = any(p);
  uint64_t numbers[4] = {}, h = 0x9e3779b97f4a7c15 + static_cast<uint64_t>(l.id);
  if (is_dense(l)) {
    const Box b = box_of(l);
    numbers[0] = b.elem;
    for (int d = 0; d < 3; ++d) numbers[d + 1] = b.n[d];
  } else {
    sparse_bytes(l, numbers);
  }
  for (const uint64_t v : numbers) {
    h = (h ^ v) * 0xd6e8feb86659fd93;
    h ^= h >> 32;
  }
  return h;
}

uint64_t bytes(const void *shape) { return bytes_of(any(shape)); }

uint32_t blocks(const void *shape, const consort_space_desc *, consort_block *out, uint32_t max) {
  constexpr uint64_t kAlign = 64;
  uint64_t sizes[3] = {};
  if (is_dense(any(shape))) sizes[0] = bytes(shape);
  else sparse_bytes(any(shape), sizes);
  uint32_t n = 0;
  for (const uint64_t size : sizes)
    if (size && n++ < max) out[n - 1] = {size, kAlign};
  return n;
}

consort_status view(const void *shape, const consort_space_desc *space, const consort_addr *given, uint32_t n, void *out) {
  if (n != blocks(shape, space, nullptr, 0)) return CONSORT_E_INVAL;
  std::memcpy(out, shape, size_of(any(shape).id));
  AnyLayout &v = any(out);
  pack_steps(v);
  if (is_dense(v)) {
    if (n) head(v).dev_handle = given[0].base, head(v).offset = given[0].off, head(v).ptr = given[0].base + given[0].off;
    return CONSORT_OK;
  }
  uint64_t sizes[3];
  uintptr_t p[3] = {};
  sparse_bytes(v, sizes);
  for (uint32_t i = 0, k = 0; i < 3; ++i)
    if (sizes[i]) p[i] = given[k].base + given[k].off, ++k;
  put_addresses(v, p);
  return CONSORT_OK;
}

uint32_t extents(const void *, const void *view, consort_extent *out, uint32_t max) {
  Array arrays[3];
  const uint32_t n = arrays_of(any(view), arrays);
  for (uint32_t i = 0; i < n && i < max; ++i) out[i] = {arrays[i].at, arrays[i].bytes};
  return n;
}

// Each array's address, and no more: kernels as text do not come through StarPU's API.
uint32_t args(const void *, const void *view, consort_arg *out, uint32_t max) {
  Array arrays[3];
  const uint32_t n = arrays_of(any(view), arrays);
  for (uint32_t i = 0; i < n && i < max; ++i) out[i] = {CONSORT_ARG_ADDR, 8, arrays[i].at, arrays[i].bytes, 0};
  return n;
}

uint32_t runs(const void *, const void *src, const void *dst, consort_run *out, uint32_t max) {
  Array from[3], to[3];
  const uint32_t n = arrays_of(any(src), from);
  arrays_of(any(dst), to);
  if (!is_dense(any(src))) {
    for (uint32_t i = 0; i < n && i < max; ++i) out[i] = {from[i].at, to[i].at, from[i].bytes, {1, 1}, {0, 0}, {0, 0}};
    return n;
  }
  if (!n || !max) return n;
  const Box s = box_of(any(src)), d = box_of(any(dst));
  const auto step = [](const Box &b, int k) { return static_cast<int64_t>(b.step[k] * b.elem); };
  out[0] = {from[0].at, to[0].at, s.n[0] * s.elem, {s.n[1], s.n[2]}, {step(s, 0), step(s, 1)}, {step(d, 0), step(d, 1)}};
  return n;
}

uint64_t packed_bytes(const void *shape, const void *) { return bytes(shape); }

consort_status pack(const void *shape, const void *view, void *buf, uint64_t cap) {
  if (cap < bytes(shape)) return CONSORT_E_TRUNCATED;
  copy_packed(any(view), static_cast<char *>(buf), true);
  return CONSORT_OK;
}

consort_status unpack(const void *shape, void *view, const void *buf, uint64_t n) {
  if (n != bytes(shape)) return n < bytes(shape) ? CONSORT_E_TRUNCATED : CONSORT_E_INVAL;
  copy_packed(any(view), const_cast<char *>(static_cast<const char *>(buf)), false);
  return CONSORT_OK;
}

uint32_t encode(const void *shape, void *wire, uint32_t cap) {
  const uint32_t size = size_of(any(shape).id);
  if (cap >= size) std::memcpy(wire, shape, size);
  return size;
}

consort_status decode(const void *wire, uint32_t n, void *shape) {
  if (n < sizeof(enum starpu_data_interface_id) || n != size_of(any(wire).id)) return CONSORT_E_INVAL;
  std::memcpy(shape, wire, n);
  return CONSORT_OK;
}

uint32_t describe(const void *shape, char *utf8, uint32_t cap) {
  const AnyLayout &l = any(shape);
  const Box b = box_of(l);
  const int n = is_dense(l) ? std::snprintf(utf8, cap, "%s of %llu x %llu x %llu x %llu B", interface_name(l.id),
                                            static_cast<unsigned long long>(b.n[0]), static_cast<unsigned long long>(b.n[1]),
                                            static_cast<unsigned long long>(b.n[2]), static_cast<unsigned long long>(b.elem))
                            : std::snprintf(utf8, cap, "%s", interface_name(l.id));
  return static_cast<uint32_t>(n);
}

constexpr starpu_data_interface_id kKinds[] = {STARPU_MATRIX_INTERFACE_ID, STARPU_BLOCK_INTERFACE_ID, STARPU_VECTOR_INTERFACE_ID,
                                               STARPU_CSR_INTERFACE_ID,    STARPU_BCSR_INTERFACE_ID,  STARPU_VARIABLE_INTERFACE_ID,
                                               STARPU_VOID_INTERFACE_ID,   STARPU_COO_INTERFACE_ID};
constexpr uint32_t kCount = sizeof kKinds / sizeof *kKinds;

struct Tables {
  consort_interface_ops ops[kCount] = {};
  consort_plugin plugins[kCount] = {};
  const consort_plugin *list[kCount];
  consort_module module;

  Tables() {
    for (uint32_t k = 0; k < kCount; ++k) {
      consort_interface_ops &o = ops[k];
      o.size = sizeof o;
      o.shape_size = o.view_size = size_of(kKinds[k]);
      o.filters = filters_of(kKinds[k], &o.nfilters);
      o.shape = shape, o.footprint = footprint, o.bytes = bytes, o.blocks = blocks, o.view = view;
      o.extents = extents, o.args = args, o.runs = runs;
      o.packed_bytes = packed_bytes, o.pack = pack, o.unpack = unpack;
      o.encode = encode, o.decode = decode, o.describe = describe;
      consort_plugin &p = plugins[k];
      p.size = sizeof p;
      p.kind = CONSORT_KIND_INTERFACE;
      p.abi_major = CONSORT_INTERFACE_MAJOR, p.abi_minor = CONSORT_INTERFACE_MINOR;
      p.flags = CONSORT_PF_VIRTUAL;
      p.name = interface_name(kKinds[k]);
      p.version = CONSORT_VERSION, p.summary = "a layout of StarPU", p.license = "Apache-2.0";
      p.ops = &o;
      list[k] = &p;
    }
    module = {sizeof module, kCount, list};
  }
};

}  // namespace

const consort_module *layouts_module(const consort_host *host) {
  static const Tables tables;
  if (CONSORT_ABI_OK(CONSORT_HOST_MAJOR, CONSORT_HOST_MINOR, host->major, host->minor)) return &tables.module;
  host->fail(host, CONSORT_E_ABI, CONSORT_REFUSAL("libstarpu-consort"));
  return nullptr;
}

const char *interface_name(starpu_data_interface_id kind) {
  switch (kind) {
    case STARPU_MATRIX_INTERFACE_ID: return "starpu_matrix";
    case STARPU_BLOCK_INTERFACE_ID: return "starpu_block";
    case STARPU_VECTOR_INTERFACE_ID: return "starpu_vector";
    case STARPU_CSR_INTERFACE_ID: return "starpu_csr";
    case STARPU_BCSR_INTERFACE_ID: return "starpu_bcsr";
    case STARPU_VARIABLE_INTERFACE_ID: return "starpu_variable";
    case STARPU_VOID_INTERFACE_ID: return "starpu_void";
    case STARPU_COO_INTERFACE_ID: return "starpu_coo";
    default: return nullptr;
  }
}

uint32_t size_of(starpu_data_interface_id kind) {
  switch (kind) {
    case STARPU_MATRIX_INTERFACE_ID: return sizeof(starpu_matrix_interface);
    case STARPU_BLOCK_INTERFACE_ID: return sizeof(starpu_block_interface);
    case STARPU_VECTOR_INTERFACE_ID: return sizeof(starpu_vector_interface);
    case STARPU_CSR_INTERFACE_ID: return sizeof(starpu_csr_interface);
    case STARPU_BCSR_INTERFACE_ID: return sizeof(starpu_bcsr_interface);
    case STARPU_VARIABLE_INTERFACE_ID: return sizeof(starpu_variable_interface);
    case STARPU_VOID_INTERFACE_ID: return sizeof(enum starpu_data_interface_id);
    case STARPU_COO_INTERFACE_ID: return sizeof(starpu_coo_interface);
    default: return 0;
  }
}

bool is_dense(const AnyLayout &l) {
  return l.id == STARPU_VARIABLE_INTERFACE_ID || l.id == STARPU_VECTOR_INTERFACE_ID ||
         l.id == STARPU_MATRIX_INTERFACE_ID || l.id == STARPU_BLOCK_INTERFACE_ID;
}

Box box_of(const AnyLayout &l) {
  switch (l.id) {
    case STARPU_VARIABLE_INTERFACE_ID: return {l.variable.elemsize, {1, 1, 1}, {0, 0}};
    case STARPU_VECTOR_INTERFACE_ID: return {l.vector.elemsize, {l.vector.nx, 1, 1}, {0, 0}};
    case STARPU_MATRIX_INTERFACE_ID: return {l.matrix.elemsize, {l.matrix.nx, l.matrix.ny, 1}, {l.matrix.ld, 0}};
    case STARPU_BLOCK_INTERFACE_ID:
      return {l.block.elemsize, {l.block.nx, l.block.ny, l.block.nz}, {l.block.ldy, l.block.ldz}};
    default: return {0, {0, 0, 0}, {0, 0}};
  }
}

uint64_t bytes_of(const AnyLayout &l) {
  if (is_dense(l)) return box_of(l).elements() * box_of(l).elem;
  uint64_t sizes[3];
  sparse_bytes(l, sizes);
  return sizes[0] + sizes[1] + sizes[2];
}

uint32_t arrays_of(const AnyLayout &view, Array *out) {
  if (is_dense(view)) {
    const uint64_t reach = box_of(view).reach();
    if (!reach) return 0;
    const DenseHead &h = head(view);
    out[0] = {h.dev_handle ? consort_addr{h.dev_handle, h.offset} : at(h.ptr), reach};
    return 1;
  }
  uint64_t sizes[3];
  uintptr_t p[3];
  sparse_bytes(view, sizes);
  addresses(view, p);
  uint32_t n = 0;
  for (uint32_t i = 0; i < 3; ++i)
    if (sizes[i]) out[n++] = {at(p[i]), sizes[i]};
  return n;
}

void copy_packed(const AnyLayout &v, char *packed, bool out_of_view) {
  Array arrays[3];
  const uint32_t n = arrays_of(v, arrays);
  const auto move = [&](char *mine, uint64_t size) {
    std::memcpy(out_of_view ? packed : mine, out_of_view ? mine : packed, size);
    packed += size;
  };
  const auto ptr = [](consort_addr a) { return reinterpret_cast<char *>(a.base + a.off); };
  if (!is_dense(v)) {
    for (uint32_t i = 0; i < n; ++i) move(ptr(arrays[i].at), arrays[i].bytes);
    return;
  }
  if (!n) return;
  const Box b = box_of(v);
  for (uint64_t z = 0; z < b.n[2]; ++z)
    for (uint64_t y = 0; y < b.n[1]; ++y)
      move(ptr(arrays[0].at) + (z * b.step[1] + y * b.step[0]) * b.elem, b.n[0] * b.elem);
}

void *pointer_of(const AnyLayout &l) {
  if (is_dense(l)) return reinterpret_cast<void *>(head(l).ptr);
  uintptr_t p[3];
  addresses(l, p);
  return reinterpret_cast<void *>(p[0]);
}

}  // namespace starpu_layer
