// Registration of data, by layout, and what a handle says about its sizes.
#include <cstring>
#include <unordered_map>

#include "handle.hpp"
#include "layouts.hpp"

namespace starpu_layer {
namespace {

std::mutex places_lock;
std::unordered_map<const void *, starpu_data_handle_t> places;

std::atomic<bool> ordered_by_default{true};

// Enters a new datum of this layout. A home in memory of a device is not supported: the contents begin as if there was none.
starpu_data_handle_t enter(const AnyLayout &layout, starpu_data_interface_id kind, int home_node) {
  auto handle = std::make_unique<_starpu_data_state>();
  handle->kind = kind;
  handle->home = layout;
  handle->home.id = kind;
  handle->home_node = home_node;
  handle->written = home_node >= 0 || kind == STARPU_VOID_INTERFACE_ID;
  handle->ordered = ordered_by_default.load();
  consort_data_desc desc = {};
  desc.size = sizeof desc;
  desc.interface = interface_name(kind);
  desc.args = &handle->home;
  desc.args_bytes = size_of(kind);
  must(consort_register(instance.rt, &desc, &handle->id), "starpu_data_register");
  if (!handle->ordered) must(consort_data_set_ordered(instance.rt, handle->id, 0), "starpu_data_register");
  remember(handle.get());
  return handle.release();
}

AnyLayout blank() {
  AnyLayout l;
  std::memset(static_cast<void *>(&l), 0, sizeof l);
  return l;
}

// The application's memory, if the home is the main memory.
template <class T>
void set_home(T &l, int home_node, uintptr_t ptr) {
  if (home_node < 0) return;
  l.ptr = l.dev_handle = ptr;
}

const AnyLayout &checked(starpu_data_handle_t handle, starpu_data_interface_id kind) {
  STARPU_ASSERT_MSG(handle->kind == kind, "this handle is not of the layout %s", interface_name(kind));
  return handle->home;
}

}  // namespace

void remember(starpu_data_handle_t handle) {
  const void *ptr = pointer_of(handle->home);
  if (!ptr) return;
  std::lock_guard lock(places_lock);
  places.insert_or_assign(ptr, handle);
}

void forget(starpu_data_handle_t handle) {
  const void *ptr = pointer_of(handle->home);
  if (!ptr) return;
  std::lock_guard lock(places_lock);
  if (const auto at = places.find(ptr); at != places.end() && at->second == handle) places.erase(at);
}

}  // namespace starpu_layer

using namespace starpu_layer;

starpu_data_handle_t starpu_data_lookup(const void *ptr) {
  std::lock_guard lock(places_lock);
  const auto found = places.find(ptr);
  return found == places.end() ? nullptr : found->second;
}

void starpu_data_set_default_sequential_consistency_flag(unsigned flag) { ordered_by_default = flag != 0; }
unsigned starpu_data_get_default_sequential_consistency_flag(void) { return ordered_by_default; }

void starpu_void_data_register(starpu_data_handle_t *handle) { *handle = enter(blank(), STARPU_VOID_INTERFACE_ID, 0); }

void starpu_variable_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t size) {
  AnyLayout l = blank();
  l.variable.elemsize = size;
  set_home(l.variable, home_node, ptr);
  *handle = enter(l, STARPU_VARIABLE_INTERFACE_ID, home_node);
}

void starpu_vector_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t nx, size_t elemsize) {
  starpu_vector_data_register_allocsize(handle, home_node, ptr, nx, elemsize, nx * elemsize);
}

void starpu_vector_data_register_allocsize(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t nx,
                                           size_t elemsize, size_t allocsize) {
  AnyLayout l = blank();
  l.vector.nx = nx;
  l.vector.elemsize = elemsize;
  l.vector.allocsize = allocsize;
  set_home(l.vector, home_node, ptr);
  *handle = enter(l, STARPU_VECTOR_INTERFACE_ID, home_node);
}

void starpu_matrix_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t ld, uint32_t nx,
                                 uint32_t ny, size_t elemsize) {
  starpu_matrix_data_register_allocsize(handle, home_node, ptr, ld, nx, ny, elemsize, size_t{nx} * ny * elemsize);
}

void starpu_matrix_data_register_allocsize(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t ld,
                                           uint32_t nx, uint32_t ny, size_t elemsize, size_t allocsize) {
  AnyLayout l = blank();
  l.matrix.nx = nx;
  l.matrix.ny = ny;
  l.matrix.ld = ld;
  l.matrix.elemsize = elemsize;
  l.matrix.allocsize = allocsize;
  set_home(l.matrix, home_node, ptr);
  *handle = enter(l, STARPU_MATRIX_INTERFACE_ID, home_node);
}

void starpu_block_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t ldy, uint32_t ldz,
                                uint32_t nx, uint32_t ny, uint32_t nz, size_t elemsize) {
  AnyLayout l = blank();
  l.block.nx = nx;
  l.block.ny = ny;
  l.block.nz = nz;
  l.block.ldy = ldy;
  l.block.ldz = ldz;
  l.block.elemsize = elemsize;
  set_home(l.block, home_node, ptr);
  *handle = enter(l, STARPU_BLOCK_INTERFACE_ID, home_node);
}

void starpu_csr_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nnz, uint32_t nrow, uintptr_t nzval,
                              uint32_t *colind, uint32_t *rowptr, uint32_t firstentry, size_t elemsize) {
  AnyLayout l = blank();
  l.csr.nnz = nnz;
  l.csr.nrow = nrow;
  l.csr.firstentry = firstentry;
  l.csr.elemsize = elemsize;
  if (home_node >= 0) l.csr.nzval = nzval, l.csr.colind = colind, l.csr.rowptr = rowptr;
  *handle = enter(l, STARPU_CSR_INTERFACE_ID, home_node);
}

void starpu_bcsr_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nnz, uint32_t nrow, uintptr_t nzval,
                               uint32_t *colind, uint32_t *rowptr, uint32_t firstentry, uint32_t r, uint32_t c,
                               size_t elemsize) {
  AnyLayout l = blank();
  l.bcsr.nnz = nnz;
  l.bcsr.nrow = nrow;
  l.bcsr.firstentry = firstentry;
  l.bcsr.r = r;
  l.bcsr.c = c;
  l.bcsr.elemsize = elemsize;
  if (home_node >= 0) l.bcsr.nzval = nzval, l.bcsr.colind = colind, l.bcsr.rowptr = rowptr;
  *handle = enter(l, STARPU_BCSR_INTERFACE_ID, home_node);
}

void starpu_coo_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nx, uint32_t ny, uint32_t n_values,
                              uint32_t *columns, uint32_t *rows, uintptr_t values, size_t elemsize) {
  AnyLayout l = blank();
  l.coo.nx = nx;
  l.coo.ny = ny;
  l.coo.n_values = n_values;
  l.coo.elemsize = elemsize;
  if (home_node >= 0) l.coo.columns = columns, l.coo.rows = rows, l.coo.values = values;
  *handle = enter(l, STARPU_COO_INTERFACE_ID, home_node);
}

void starpu_data_register_same(starpu_data_handle_t *handledst, starpu_data_handle_t handlesrc) {
  AnyLayout l = handlesrc->home;
  switch (l.id) {
    case STARPU_CSR_INTERFACE_ID: l.csr.nzval = 0, l.csr.colind = l.csr.rowptr = nullptr; break;
    case STARPU_BCSR_INTERFACE_ID: l.bcsr.nzval = 0, l.bcsr.colind = l.bcsr.rowptr = nullptr; break;
    case STARPU_COO_INTERFACE_ID: l.coo.values = 0, l.coo.columns = l.coo.rows = nullptr; break;
    case STARPU_VOID_INTERFACE_ID: break;
    default: l.variable.ptr = l.variable.dev_handle = l.variable.offset = 0;  // all dense structs begin so
  }
  *handledst = enter(l, handlesrc->kind, -1);
}

#define CONSORT_GETTER(type, name, LAYOUT, member) \
  type name(starpu_data_handle_t handle) { return checked(handle, STARPU_##LAYOUT##_INTERFACE_ID).member; }
#define CONSORT_LOCAL_GETTER(type, name, LAYOUT, member)   \
  type name(starpu_data_handle_t handle) {                 \
    checked(handle, STARPU_##LAYOUT##_INTERFACE_ID);       \
    return local(handle).member;                           \
  }
CONSORT_GETTER(size_t, starpu_variable_get_elemsize, VARIABLE, variable.elemsize)
CONSORT_LOCAL_GETTER(uintptr_t, starpu_variable_get_local_ptr, VARIABLE, variable.ptr)
CONSORT_GETTER(uint32_t, starpu_vector_get_nx, VECTOR, vector.nx)
CONSORT_GETTER(size_t, starpu_vector_get_elemsize, VECTOR, vector.elemsize)
CONSORT_GETTER(size_t, starpu_vector_get_allocsize, VECTOR, vector.allocsize)
CONSORT_LOCAL_GETTER(uintptr_t, starpu_vector_get_local_ptr, VECTOR, vector.ptr)
CONSORT_GETTER(uint32_t, starpu_matrix_get_nx, MATRIX, matrix.nx)
CONSORT_GETTER(uint32_t, starpu_matrix_get_ny, MATRIX, matrix.ny)
CONSORT_GETTER(size_t, starpu_matrix_get_elemsize, MATRIX, matrix.elemsize)
CONSORT_GETTER(size_t, starpu_matrix_get_allocsize, MATRIX, matrix.allocsize)
CONSORT_LOCAL_GETTER(uint32_t, starpu_matrix_get_local_ld, MATRIX, matrix.ld)
CONSORT_LOCAL_GETTER(uintptr_t, starpu_matrix_get_local_ptr, MATRIX, matrix.ptr)
CONSORT_GETTER(uint32_t, starpu_block_get_nx, BLOCK, block.nx)
CONSORT_GETTER(uint32_t, starpu_block_get_ny, BLOCK, block.ny)
CONSORT_GETTER(uint32_t, starpu_block_get_nz, BLOCK, block.nz)
CONSORT_GETTER(size_t, starpu_block_get_elemsize, BLOCK, block.elemsize)
CONSORT_LOCAL_GETTER(uint32_t, starpu_block_get_local_ldy, BLOCK, block.ldy)
CONSORT_LOCAL_GETTER(uint32_t, starpu_block_get_local_ldz, BLOCK, block.ldz)
CONSORT_LOCAL_GETTER(uintptr_t, starpu_block_get_local_ptr, BLOCK, block.ptr)
CONSORT_GETTER(uint32_t, starpu_csr_get_nnz, CSR, csr.nnz)
CONSORT_GETTER(uint32_t, starpu_csr_get_nrow, CSR, csr.nrow)
CONSORT_GETTER(uint32_t, starpu_csr_get_firstentry, CSR, csr.firstentry)
CONSORT_GETTER(size_t, starpu_csr_get_elemsize, CSR, csr.elemsize)
CONSORT_LOCAL_GETTER(uintptr_t, starpu_csr_get_local_nzval, CSR, csr.nzval)
CONSORT_LOCAL_GETTER(uint32_t *, starpu_csr_get_local_colind, CSR, csr.colind)
CONSORT_LOCAL_GETTER(uint32_t *, starpu_csr_get_local_rowptr, CSR, csr.rowptr)
CONSORT_GETTER(uint32_t, starpu_bcsr_get_nnz, BCSR, bcsr.nnz)
CONSORT_GETTER(uint32_t, starpu_bcsr_get_nrow, BCSR, bcsr.nrow)
CONSORT_GETTER(uint32_t, starpu_bcsr_get_firstentry, BCSR, bcsr.firstentry)
CONSORT_GETTER(uint32_t, starpu_bcsr_get_r, BCSR, bcsr.r)
CONSORT_GETTER(uint32_t, starpu_bcsr_get_c, BCSR, bcsr.c)
CONSORT_GETTER(size_t, starpu_bcsr_get_elemsize, BCSR, bcsr.elemsize)
CONSORT_LOCAL_GETTER(uintptr_t, starpu_bcsr_get_local_nzval, BCSR, bcsr.nzval)
CONSORT_LOCAL_GETTER(uint32_t *, starpu_bcsr_get_local_colind, BCSR, bcsr.colind)
CONSORT_LOCAL_GETTER(uint32_t *, starpu_bcsr_get_local_rowptr, BCSR, bcsr.rowptr)
