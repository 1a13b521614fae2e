/* starpu_data_interfaces.h: the layouts of data. A codelet gets a pointer to the struct of the layout for each buffer. */
#ifndef CONSORT_STARPU_DATA_INTERFACES_H
#define CONSORT_STARPU_DATA_INTERFACES_H
#include <starpu_data.h>
#ifdef __cplusplus
extern "C" {
#endif

enum starpu_data_interface_id {
  STARPU_UNKNOWN_INTERFACE_ID = -1,
  STARPU_MATRIX_INTERFACE_ID = 0,
  STARPU_BLOCK_INTERFACE_ID = 1,
  STARPU_VECTOR_INTERFACE_ID = 2,
  STARPU_CSR_INTERFACE_ID = 3,
  STARPU_BCSR_INTERFACE_ID = 4,
  STARPU_VARIABLE_INTERFACE_ID = 5,
  STARPU_VOID_INTERFACE_ID = 6,
  STARPU_MULTIFORMAT_INTERFACE_ID = 7,
  STARPU_COO_INTERFACE_ID = 8,
  STARPU_MAX_INTERFACE_ID = 9
};

void starpu_data_register_same(starpu_data_handle_t *handledst, starpu_data_handle_t handlesrc);
void *starpu_data_handle_to_pointer(starpu_data_handle_t handle, unsigned node);
int starpu_data_pointer_is_inside(starpu_data_handle_t handle, unsigned node, void *ptr);
void *starpu_data_get_local_ptr(starpu_data_handle_t handle);
void *starpu_data_get_interface_on_node(starpu_data_handle_t handle, unsigned memory_node);
enum starpu_data_interface_id starpu_data_get_interface_id(starpu_data_handle_t handle);
int starpu_data_pack(starpu_data_handle_t handle, void **ptr, starpu_ssize_t *count);
int starpu_data_unpack(starpu_data_handle_t handle, void *ptr, size_t count);
size_t starpu_data_get_size(starpu_data_handle_t handle);
size_t starpu_data_get_alloc_size(starpu_data_handle_t handle);
starpu_data_handle_t starpu_data_lookup(const void *ptr);
int starpu_data_get_home_node(starpu_data_handle_t handle);
uintptr_t starpu_malloc_on_node(unsigned dst_node, size_t size);
uintptr_t starpu_malloc_on_node_flags(unsigned dst_node, size_t size, int flags);
void starpu_free_on_node(unsigned dst_node, uintptr_t addr, size_t size);
void starpu_free_on_node_flags(unsigned dst_node, uintptr_t addr, size_t size, int flags);
void starpu_malloc_on_node_set_default_flags(unsigned node, int flags);
int starpu_interface_copy(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst, size_t dst_offset,
    unsigned dst_node, size_t size, void *async_data);
int starpu_interface_copy2d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst, size_t dst_offset,
    unsigned dst_node, size_t blocksize, size_t numblocks, size_t ld_src, size_t ld_dst, void *async_data);
int starpu_interface_copy3d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst, size_t dst_offset,
    unsigned dst_node, size_t blocksize, size_t numblocks1, size_t ld1_src, size_t ld1_dst, size_t numblocks2,
    size_t ld2_src, size_t ld2_dst, void *async_data);
int starpu_interface_copy4d(uintptr_t src, size_t src_offset, unsigned src_node, uintptr_t dst, size_t dst_offset,
    unsigned dst_node, size_t blocksize, size_t numblocks1, size_t ld1_src, size_t ld1_dst, size_t numblocks2,
    size_t ld2_src, size_t ld2_dst, size_t numblocks3, size_t ld3_src, size_t ld3_dst, void *async_data);

/* variable: one value. */
struct starpu_variable_interface {
  enum starpu_data_interface_id id;
  uintptr_t ptr;
  uintptr_t dev_handle;
  size_t offset;
  size_t elemsize;
};
void starpu_variable_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, size_t size);
size_t starpu_variable_get_elemsize(starpu_data_handle_t handle);
uintptr_t starpu_variable_get_local_ptr(starpu_data_handle_t handle);
#define STARPU_VARIABLE_OF_(interface) ((struct starpu_variable_interface *)(interface))
#define STARPU_VARIABLE_GET_PTR(interface) (STARPU_VARIABLE_OF_(interface)->ptr)
#define STARPU_VARIABLE_GET_DEV_HANDLE(interface) (STARPU_VARIABLE_OF_(interface)->ptr)
#define STARPU_VARIABLE_GET_OFFSET(interface) (STARPU_VARIABLE_OF_(interface)->offset)
#define STARPU_VARIABLE_GET_ELEMSIZE(interface) (STARPU_VARIABLE_OF_(interface)->elemsize)

/* vector: nx elements side by side. */
struct starpu_vector_interface {
  enum starpu_data_interface_id id;
  uintptr_t ptr;
  uintptr_t dev_handle;
  size_t offset;
  uint32_t nx;
  size_t elemsize;
  uint32_t slice_base;
  size_t allocsize;
};
void starpu_vector_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t nx, size_t
    elemsize);
void starpu_vector_data_register_allocsize(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t nx,
    size_t elemsize, size_t allocsize);
uint32_t starpu_vector_get_nx(starpu_data_handle_t handle);
size_t starpu_vector_get_elemsize(starpu_data_handle_t handle);
size_t starpu_vector_get_allocsize(starpu_data_handle_t handle);
uintptr_t starpu_vector_get_local_ptr(starpu_data_handle_t handle);
#define STARPU_VECTOR_OF_(interface) ((struct starpu_vector_interface *)(interface))
#define STARPU_VECTOR_GET_PTR(interface) (STARPU_VECTOR_OF_(interface)->ptr)
#define STARPU_VECTOR_GET_DEV_HANDLE(interface) (STARPU_VECTOR_OF_(interface)->dev_handle)
#define STARPU_VECTOR_GET_OFFSET(interface) (STARPU_VECTOR_OF_(interface)->offset)
#define STARPU_VECTOR_GET_NX(interface) (STARPU_VECTOR_OF_(interface)->nx)
#define STARPU_VECTOR_GET_ELEMSIZE(interface) (STARPU_VECTOR_OF_(interface)->elemsize)
#define STARPU_VECTOR_GET_ALLOCSIZE(interface) (STARPU_VECTOR_OF_(interface)->allocsize)
#define STARPU_VECTOR_GET_SLICE_BASE(interface) (STARPU_VECTOR_OF_(interface)->slice_base)
#define STARPU_VECTOR_SET_NX(interface, value) ((void)(STARPU_VECTOR_OF_(interface)->nx = (value)))

/* matrix: ny lines of nx elements, ld elements from line to line. */
struct starpu_matrix_interface {
  enum starpu_data_interface_id id;
  uintptr_t ptr;
  uintptr_t dev_handle;
  size_t offset;
  uint32_t nx;
  uint32_t ny;
  uint32_t ld;
  size_t elemsize;
  size_t allocsize;
};
void starpu_matrix_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t ld, uint32_t
    nx, uint32_t ny, size_t elemsize);
void starpu_matrix_data_register_allocsize(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t ld,
    uint32_t nx, uint32_t ny, size_t elemsize, size_t allocsize);
uint32_t starpu_matrix_get_nx(starpu_data_handle_t handle);
uint32_t starpu_matrix_get_ny(starpu_data_handle_t handle);
uint32_t starpu_matrix_get_local_ld(starpu_data_handle_t handle);
uintptr_t starpu_matrix_get_local_ptr(starpu_data_handle_t handle);
size_t starpu_matrix_get_elemsize(starpu_data_handle_t handle);
size_t starpu_matrix_get_allocsize(starpu_data_handle_t handle);
#define STARPU_MATRIX_OF_(interface) ((struct starpu_matrix_interface *)(interface))
#define STARPU_MATRIX_GET_PTR(interface) (STARPU_MATRIX_OF_(interface)->ptr)
#define STARPU_MATRIX_GET_DEV_HANDLE(interface) (STARPU_MATRIX_OF_(interface)->dev_handle)
#define STARPU_MATRIX_GET_OFFSET(interface) (STARPU_MATRIX_OF_(interface)->offset)
#define STARPU_MATRIX_GET_NX(interface) (STARPU_MATRIX_OF_(interface)->nx)
#define STARPU_MATRIX_GET_NY(interface) (STARPU_MATRIX_OF_(interface)->ny)
#define STARPU_MATRIX_GET_LD(interface) (STARPU_MATRIX_OF_(interface)->ld)
#define STARPU_MATRIX_GET_ELEMSIZE(interface) (STARPU_MATRIX_OF_(interface)->elemsize)
#define STARPU_MATRIX_GET_ALLOCSIZE(interface) (STARPU_MATRIX_OF_(interface)->allocsize)
#define STARPU_MATRIX_SET_NX(interface, value) ((void)(STARPU_MATRIX_OF_(interface)->nx = (value)))
#define STARPU_MATRIX_SET_NY(interface, value) ((void)(STARPU_MATRIX_OF_(interface)->ny = (value)))
#define STARPU_MATRIX_SET_LD(interface, value) ((void)(STARPU_MATRIX_OF_(interface)->ld = (value)))

/* block: nz planes of ny lines of nx elements. */
struct starpu_block_interface {
  enum starpu_data_interface_id id;
  uintptr_t ptr;
  uintptr_t dev_handle;
  size_t offset;
  uint32_t nx;
  uint32_t ny;
  uint32_t nz;
  uint32_t ldy;
  uint32_t ldz;
  size_t elemsize;
};
void starpu_block_data_register(starpu_data_handle_t *handle, int home_node, uintptr_t ptr, uint32_t ldy, uint32_t
    ldz, uint32_t nx, uint32_t ny, uint32_t nz, size_t elemsize);
uint32_t starpu_block_get_nx(starpu_data_handle_t handle);
uint32_t starpu_block_get_ny(starpu_data_handle_t handle);
uint32_t starpu_block_get_nz(starpu_data_handle_t handle);
uint32_t starpu_block_get_local_ldy(starpu_data_handle_t handle);
uint32_t starpu_block_get_local_ldz(starpu_data_handle_t handle);
uintptr_t starpu_block_get_local_ptr(starpu_data_handle_t handle);
size_t starpu_block_get_elemsize(starpu_data_handle_t handle);
#define STARPU_BLOCK_OF_(interface) ((struct starpu_block_interface *)(interface))
#define STARPU_BLOCK_GET_PTR(interface) (STARPU_BLOCK_OF_(interface)->ptr)
#define STARPU_BLOCK_GET_DEV_HANDLE(interface) (STARPU_BLOCK_OF_(interface)->dev_handle)
#define STARPU_BLOCK_GET_OFFSET(interface) (STARPU_BLOCK_OF_(interface)->offset)
#define STARPU_BLOCK_GET_NX(interface) (STARPU_BLOCK_OF_(interface)->nx)
#define STARPU_BLOCK_GET_NY(interface) (STARPU_BLOCK_OF_(interface)->ny)
#define STARPU_BLOCK_GET_NZ(interface) (STARPU_BLOCK_OF_(interface)->nz)
#define STARPU_BLOCK_GET_LDY(interface) (STARPU_BLOCK_OF_(interface)->ldy)
#define STARPU_BLOCK_GET_LDZ(interface) (STARPU_BLOCK_OF_(interface)->ldz)
#define STARPU_BLOCK_GET_ELEMSIZE(interface) (STARPU_BLOCK_OF_(interface)->elemsize)

/* csr: a sparse matrix by rows. */
struct starpu_csr_interface {
  enum starpu_data_interface_id id;
  uint32_t nnz;
  uint32_t nrow;
  uintptr_t nzval;
  uint32_t *colind;
  uint32_t *rowptr;
  uint32_t firstentry;
  size_t elemsize;
};
void starpu_csr_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nnz, uint32_t nrow, uintptr_t
    nzval, uint32_t *colind, uint32_t *rowptr, uint32_t firstentry, size_t elemsize);
uint32_t starpu_csr_get_nnz(starpu_data_handle_t handle);
uint32_t starpu_csr_get_nrow(starpu_data_handle_t handle);
uint32_t starpu_csr_get_firstentry(starpu_data_handle_t handle);
uintptr_t starpu_csr_get_local_nzval(starpu_data_handle_t handle);
uint32_t *starpu_csr_get_local_colind(starpu_data_handle_t handle);
uint32_t *starpu_csr_get_local_rowptr(starpu_data_handle_t handle);
size_t starpu_csr_get_elemsize(starpu_data_handle_t handle);
#define STARPU_CSR_OF_(interface) ((struct starpu_csr_interface *)(interface))
#define STARPU_CSR_GET_NNZ(interface) (STARPU_CSR_OF_(interface)->nnz)
#define STARPU_CSR_GET_NROW(interface) (STARPU_CSR_OF_(interface)->nrow)
#define STARPU_CSR_GET_NZVAL(interface) (STARPU_CSR_OF_(interface)->nzval)
#define STARPU_CSR_GET_COLIND(interface) (STARPU_CSR_OF_(interface)->colind)
#define STARPU_CSR_GET_ROWPTR(interface) (STARPU_CSR_OF_(interface)->rowptr)
#define STARPU_CSR_GET_FIRSTENTRY(interface) (STARPU_CSR_OF_(interface)->firstentry)
#define STARPU_CSR_GET_ELEMSIZE(interface) (STARPU_CSR_OF_(interface)->elemsize)
#define STARPU_CSR_GET_NZVAL_DEV_HANDLE(interface) STARPU_CSR_GET_NZVAL(interface)
#define STARPU_CSR_GET_COLIND_DEV_HANDLE(interface) STARPU_CSR_GET_COLIND(interface)
#define STARPU_CSR_GET_ROWPTR_DEV_HANDLE(interface) STARPU_CSR_GET_ROWPTR(interface)
#define STARPU_CSR_GET_OFFSET 0

/* bcsr: a sparse matrix by rows of blocks of r x c. */
struct starpu_bcsr_interface {
  enum starpu_data_interface_id id;
  uint32_t nnz;
  uint32_t nrow;
  uintptr_t nzval;
  uint32_t *colind;
  uint32_t *rowptr;
  uint32_t firstentry;
  uint32_t r;
  uint32_t c;
  size_t elemsize;
};
void starpu_bcsr_data_register(starpu_data_handle_t *handle, int home_node, uint32_t nnz, uint32_t nrow, uintptr_t
    nzval, uint32_t *colind, uint32_t *rowptr, uint32_t firstentry, uint32_t r, uint32_t c, size_t elemsize);
uint32_t starpu_bcsr_get_nnz(starpu_data_handle_t handle);
uint32_t starpu_bcsr_get_nrow(starpu_data_handle_t handle);
uint32_t starpu_bcsr_get_firstentry(starpu_data_handle_t handle);
uintptr_t starpu_bcsr_get_local_nzval(starpu_data_handle_t handle);
uint32_t *starpu_bcsr_get_local_colind(starpu_data_handle_t handle);
uint32_t *starpu_bcsr_get_local_rowptr(starpu_data_handle_t handle);
uint32_t starpu_bcsr_get_r(starpu_data_handle_t handle);
uint32_t starpu_bcsr_get_c(starpu_data_handle_t handle);
size_t starpu_bcsr_get_elemsize(starpu_data_handle_t handle);
#define STARPU_BCSR_OF_(interface) ((struct starpu_bcsr_interface *)(interface))
#define STARPU_BCSR_GET_NNZ(interface) (STARPU_BCSR_OF_(interface)->nnz)
#define STARPU_BCSR_GET_NROW(interface) (STARPU_BCSR_OF_(interface)->nrow)
#define STARPU_BCSR_GET_NZVAL(interface) (STARPU_BCSR_OF_(interface)->nzval)
#define STARPU_BCSR_GET_COLIND(interface) (STARPU_BCSR_OF_(interface)->colind)
#define STARPU_BCSR_GET_ROWPTR(interface) (STARPU_BCSR_OF_(interface)->rowptr)
#define STARPU_BCSR_GET_FIRSTENTRY(interface) (STARPU_BCSR_OF_(interface)->firstentry)
#define STARPU_BCSR_GET_R(interface) (STARPU_BCSR_OF_(interface)->r)
#define STARPU_BCSR_GET_C(interface) (STARPU_BCSR_OF_(interface)->c)
#define STARPU_BCSR_GET_ELEMSIZE(interface) (STARPU_BCSR_OF_(interface)->elemsize)
#define STARPU_BCSR_GET_NZVAL_DEV_HANDLE(interface) STARPU_BCSR_GET_NZVAL(interface)
#define STARPU_BCSR_GET_COLIND_DEV_HANDLE(interface) STARPU_BCSR_GET_COLIND(interface)
#define STARPU_BCSR_GET_ROWPTR_DEV_HANDLE(interface) STARPU_BCSR_GET_ROWPTR(interface)
#define STARPU_BCSR_GET_OFFSET 0

/* coo: a sparse matrix as a list of entries. */
struct starpu_coo_interface {
  enum starpu_data_interface_id id;
  uint32_t *columns;
  uint32_t *rows;
  uintptr_t values;
  uint32_t nx;
  uint32_t ny;
  uint32_t n_values;
  size_t elemsize;
};
void starpu_coo_data_register(starpu_data_handle_t *handleptr, int home_node, uint32_t nx, uint32_t ny, uint32_t
    n_values, uint32_t *columns, uint32_t *rows, uintptr_t values, size_t elemsize);
#define STARPU_COO_OF_(interface) ((struct starpu_coo_interface *)(interface))
#define STARPU_COO_GET_COLUMNS(interface) (STARPU_COO_OF_(interface)->columns)
#define STARPU_COO_GET_ROWS(interface) (STARPU_COO_OF_(interface)->rows)
#define STARPU_COO_GET_VALUES(interface) (STARPU_COO_OF_(interface)->values)
#define STARPU_COO_GET_NX(interface) (STARPU_COO_OF_(interface)->nx)
#define STARPU_COO_GET_NY(interface) (STARPU_COO_OF_(interface)->ny)
#define STARPU_COO_GET_NVALUES(interface) (STARPU_COO_OF_(interface)->n_values)
#define STARPU_COO_GET_ELEMSIZE(interface) (STARPU_COO_OF_(interface)->elemsize)
#define STARPU_COO_GET_COLUMNS_DEV_HANDLE(interface) STARPU_COO_GET_COLUMNS(interface)
#define STARPU_COO_GET_ROWS_DEV_HANDLE(interface) STARPU_COO_GET_ROWS(interface)
#define STARPU_COO_GET_VALUES_DEV_HANDLE(interface) STARPU_COO_GET_VALUES(interface)
#define STARPU_COO_GET_OFFSET 0

/* void: no contents, order alone. */
void starpu_void_data_register(starpu_data_handle_t *handle);

#ifdef __cplusplus
}
#endif
#endif
