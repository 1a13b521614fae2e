/* Layouts as codelets see them. */
#include "check.h"

static struct starpu_vector_interface v;
static struct starpu_matrix_interface m;
static struct starpu_block_interface b;
static struct starpu_csr_interface c;
static struct starpu_bcsr_interface bc;
static struct starpu_coo_interface co;
static void see_vector(void *buffers[], void *arg) { (void)arg, v = *(struct starpu_vector_interface *)buffers[0]; }
static void see_matrix(void *buffers[], void *arg) { (void)arg, m = *(struct starpu_matrix_interface *)buffers[0]; }
static void see_block(void *buffers[], void *arg) { (void)arg, b = *(struct starpu_block_interface *)buffers[0]; }
static void see_csr(void *buffers[], void *arg) { (void)arg, c = *(struct starpu_csr_interface *)buffers[0]; }
static void see_bcsr(void *buffers[], void *arg) { (void)arg, bc = *(struct starpu_bcsr_interface *)buffers[0]; }
static void see_coo(void *buffers[], void *arg) { (void)arg, co = *(struct starpu_coo_interface *)buffers[0]; }
static int look(void (*f)(void **, void *), starpu_data_handle_t h) {
  struct starpu_codelet cl = {.cpu_funcs = {f}, .nbuffers = 1, .modes = {STARPU_RW}};
  return starpu_task_insert(&cl, STARPU_RW, h, STARPU_TASK_SYNCHRONOUS, 1, 0);
}

PROGRAM(layouts_vector) {
  float x[9];
  starpu_data_handle_t h;
  START();
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 9, sizeof x[0]);
  CHECK(starpu_vector_get_nx(h) == 9);
  CHECK(starpu_vector_get_elemsize(h) == sizeof x[0]);
  CHECK(starpu_vector_get_allocsize(h) == sizeof x);
  CHECK(starpu_vector_get_local_ptr(h) == (uintptr_t)x);
  CHECK(look(see_vector, h) == 0);
  CHECK(v.id == STARPU_VECTOR_INTERFACE_ID);
  CHECK(STARPU_VECTOR_GET_PTR(&v) == (uintptr_t)x);
  CHECK(STARPU_VECTOR_GET_NX(&v) == 9);
  CHECK(STARPU_VECTOR_GET_ELEMSIZE(&v) == sizeof x[0]);
  CHECK(STARPU_VECTOR_GET_ALLOCSIZE(&v) == sizeof x);
  CHECK(STARPU_VECTOR_GET_OFFSET(&v) == 0);
  CHECK(STARPU_VECTOR_GET_SLICE_BASE(&v) == 0);
  CHECK(STARPU_VECTOR_GET_DEV_HANDLE(&v) == (uintptr_t)x);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(layouts_matrix) {
  double x[5 * 8];
  starpu_data_handle_t h;
  START();
  starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 8, 6, 5, sizeof x[0]);
  CHECK(starpu_matrix_get_nx(h) == 6);
  CHECK(starpu_matrix_get_ny(h) == 5);
  CHECK(starpu_matrix_get_local_ld(h) == 8);
  CHECK(starpu_matrix_get_local_ptr(h) == (uintptr_t)x);
  CHECK(starpu_matrix_get_elemsize(h) == sizeof x[0]);
  CHECK(starpu_data_get_size(h) == 30 * sizeof x[0]);
  CHECK(look(see_matrix, h) == 0);
  CHECK(STARPU_MATRIX_GET_PTR(&m) == (uintptr_t)x);
  CHECK(STARPU_MATRIX_GET_NX(&m) == 6);
  CHECK(STARPU_MATRIX_GET_NY(&m) == 5);
  CHECK(STARPU_MATRIX_GET_LD(&m) == 8);
  CHECK(STARPU_MATRIX_GET_ELEMSIZE(&m) == sizeof x[0]);
  SAY("allocsize %zu %zu", (size_t)STARPU_MATRIX_GET_ALLOCSIZE(&m), starpu_matrix_get_allocsize(h));
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(layouts_block) {
  int x[4 * 30];
  starpu_data_handle_t h;
  START();
  starpu_block_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 6, 30, 5, 4, 3, sizeof x[0]);
  CHECK(starpu_block_get_nx(h) == 5);
  CHECK(starpu_block_get_ny(h) == 4);
  CHECK(starpu_block_get_nz(h) == 3);
  CHECK(starpu_block_get_local_ldy(h) == 6);
  CHECK(starpu_block_get_local_ldz(h) == 30);
  CHECK(starpu_block_get_local_ptr(h) == (uintptr_t)x);
  CHECK(starpu_block_get_elemsize(h) == sizeof x[0]);
  CHECK(starpu_data_get_size(h) == 60 * sizeof x[0]);
  CHECK(look(see_block, h) == 0);
  CHECK(STARPU_BLOCK_GET_PTR(&b) == (uintptr_t)x);
  CHECK(STARPU_BLOCK_GET_NX(&b) == 5 && STARPU_BLOCK_GET_NY(&b) == 4 && STARPU_BLOCK_GET_NZ(&b) == 3);
  CHECK(STARPU_BLOCK_GET_LDY(&b) == 6);
  CHECK(STARPU_BLOCK_GET_LDZ(&b) == 30);
  CHECK(STARPU_BLOCK_GET_ELEMSIZE(&b) == sizeof x[0]);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(layouts_csr) {
  double val[4] = {1, 2, 3, 4};
  uint32_t col[4] = {0, 2, 1, 0}, row[4] = {0, 2, 3, 4};
  starpu_data_handle_t h;
  START();
  starpu_csr_data_register(&h, STARPU_MAIN_RAM, 4, 3, (uintptr_t)val, col, row, 0, sizeof val[0]);
  CHECK(starpu_csr_get_nnz(h) == 4);
  CHECK(starpu_csr_get_nrow(h) == 3);
  CHECK(starpu_csr_get_firstentry(h) == 0);
  CHECK(starpu_csr_get_elemsize(h) == sizeof val[0]);
  CHECK(starpu_csr_get_local_nzval(h) == (uintptr_t)val);
  CHECK(starpu_csr_get_local_colind(h) == col);
  CHECK(starpu_csr_get_local_rowptr(h) == row);
  SAY("size %zu", starpu_data_get_size(h));
  CHECK(look(see_csr, h) == 0);
  CHECK(STARPU_CSR_GET_NNZ(&c) == 4);
  CHECK(STARPU_CSR_GET_NROW(&c) == 3);
  CHECK(STARPU_CSR_GET_NZVAL(&c) == (uintptr_t)val);
  CHECK(STARPU_CSR_GET_COLIND(&c) == col);
  CHECK(STARPU_CSR_GET_ROWPTR(&c) == row);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(layouts_bcsr) {
  int val[2 * 6] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  uint32_t col[2] = {0, 1}, row[3] = {0, 1, 2};
  starpu_data_handle_t h;
  START();
  starpu_bcsr_data_register(&h, STARPU_MAIN_RAM, 2, 2, (uintptr_t)val, col, row, 0, 2, 3, sizeof val[0]);
  CHECK(starpu_bcsr_get_nnz(h) == 2);
  CHECK(starpu_bcsr_get_nrow(h) == 2);
  CHECK(starpu_bcsr_get_firstentry(h) == 0);
  CHECK(starpu_bcsr_get_r(h) == 2);
  CHECK(starpu_bcsr_get_c(h) == 3);
  CHECK(starpu_bcsr_get_elemsize(h) == sizeof val[0]);
  CHECK(starpu_bcsr_get_local_nzval(h) == (uintptr_t)val);
  CHECK(starpu_bcsr_get_local_colind(h) == col);
  CHECK(starpu_bcsr_get_local_rowptr(h) == row);
  CHECK(look(see_bcsr, h) == 0);
  CHECK(STARPU_BCSR_GET_NNZ(&bc) == 2);
  CHECK(STARPU_BCSR_GET_R(&bc) == 2 && STARPU_BCSR_GET_C(&bc) == 3);
  CHECK(STARPU_BCSR_GET_NZVAL(&bc) == (uintptr_t)val);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(layouts_coo) {
  int val[3] = {1, 2, 3};
  uint32_t col[3] = {0, 1, 2}, row[3] = {2, 1, 0};
  starpu_data_handle_t h;
  START();
  starpu_coo_data_register(&h, STARPU_MAIN_RAM, 3, 3, 3, col, row, (uintptr_t)val, sizeof val[0]);
  CHECK(starpu_data_get_interface_id(h) == STARPU_COO_INTERFACE_ID);
  CHECK(look(see_coo, h) == 0);
  CHECK(co.id == STARPU_COO_INTERFACE_ID);
  CHECK(STARPU_COO_GET_COLUMNS(&co) == col);
  CHECK(STARPU_COO_GET_ROWS(&co) == row);
  CHECK(STARPU_COO_GET_VALUES(&co) == (uintptr_t)val);
  CHECK(STARPU_COO_GET_NX(&co) == 3);
  CHECK(STARPU_COO_GET_NY(&co) == 3);
  CHECK(STARPU_COO_GET_NVALUES(&co) == 3);
  CHECK(STARPU_COO_GET_ELEMSIZE(&co) == sizeof val[0]);
  starpu_data_unregister(h);
  STOP();
}

static int order[10], norder;
static void append(void *buffers[], void *arg) { (void)buffers, order[norder++] = (int)(intptr_t)arg; }
PROGRAM(layouts_void) {
  struct starpu_codelet cl = {.cpu_funcs = {append}, .nbuffers = 1, .modes = {STARPU_RW}};
  starpu_data_handle_t h;
  int i;
  START();
  starpu_void_data_register(&h);
  CHECK(starpu_data_get_interface_id(h) == STARPU_VOID_INTERFACE_ID);
  CHECK(starpu_data_get_size(h) == 0);
  for (i = 0; i < 10; i++) {
    struct starpu_task *t = starpu_task_create();
    t->cl = &cl;
    t->handles[0] = h;
    t->cl_arg = (void *)(intptr_t)i;
    if (starpu_task_submit(t)) abort();
  }
  CHECK(starpu_data_acquire(h, STARPU_R) == 0);
  starpu_data_release(h);
  starpu_data_unregister(h);
  for (i = 0; i < 10; i++) CHECK(order[i] == i);
  STOP();
}

PROGRAM(layouts_pack) {
  int x[12], i, j;
  void *packed = NULL;
  starpu_ssize_t n = 0;
  starpu_data_handle_t h;
  START();
  for (i = 0; i < 12; i++) x[i] = i;
  starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 4, 3, 3, sizeof x[0]);
  CHECK(starpu_data_acquire(h, STARPU_RW) == 0);
  CHECK(starpu_data_pack(h, &packed, &n) == 0);
  CHECK(n == 9 * sizeof x[0]);
  for (j = 0; j < 3; j++) CHECK(((int *)packed)[3 * j + 1] == 4 * j + 1);
  for (i = 0; i < 9; i++) ((int *)packed)[i] += 100;
  CHECK(starpu_data_unpack(h, packed, (size_t)n) == 0);
  for (j = 0; j < 3; j++) CHECK(x[4 * j + 2] == 102 + 4 * j);
  CHECK(x[3] == 3 && x[7] == 7 && x[11] == 11);
  starpu_data_release(h);
  starpu_data_unregister(h);
  STOP();
}
