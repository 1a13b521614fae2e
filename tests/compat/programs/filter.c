/* Partitions and filters. */
#include "check.h"

static void fill(void *buffers[], void *arg) {
  int *p = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
  unsigned i;
  for (i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i] = (int)(intptr_t)arg;
}
static void twice(void *buffers[], void *arg) {
  int *p = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
  unsigned i;
  (void)arg;
  for (i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i] *= 2;
}
static struct starpu_codelet fill_cl = {.cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet twice_cl = {.cpu_funcs = {twice}, .nbuffers = 1, .modes = {STARPU_RW}};
static int submit1(struct starpu_codelet *cl, starpu_data_handle_t h, int arg) {
  struct starpu_task *t = starpu_task_create();
  t->cl = cl;
  t->handles[0] = h;
  t->cl_arg = (void *)(intptr_t)arg;
  return starpu_task_submit(t);
}

static void vector_case(struct starpu_data_filter *f, int n) {
  int x[64], i;
  starpu_data_handle_t h;
  memset(x, 0, sizeof x);
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, (uint32_t)n, sizeof x[0]);
  CHECK(starpu_data_get_nb_children(h) == 0);
  starpu_data_partition(h, f);
  CHECK(starpu_data_get_nb_children(h) == (int)f->nchildren);
  for (i = 0; i < (int)f->nchildren; i++) {
    starpu_data_handle_t c = starpu_data_get_child(h, (unsigned)i);
    CHECK(starpu_data_get_sub_data(h, 1, i) == c);
    SAY("child %d: %u elements", i, starpu_vector_get_nx(c));
    CHECK(submit1(&fill_cl, c, i + 1) == 0);
  }
  starpu_data_unpartition(h, STARPU_MAIN_RAM);
  CHECK(submit1(&twice_cl, h, 0) == 0);
  starpu_data_unregister(h);
  for (i = 0; i < n; i++) printf("%d ", x[i]);
  SAY(".");
}

PROGRAM(filter_vector_block) {
  struct starpu_data_filter f = {.filter_func = starpu_vector_filter_block};
  START();
  for (f.nchildren = 1; f.nchildren < 6; f.nchildren++) vector_case(&f, 17);
  f.nchildren = 4;
  vector_case(&f, 4);
  STOP();
}

PROGRAM(filter_vector_list) {
  uint32_t lengths[4] = {3, 1, 9, 4};
  long long_lengths[3] = {5, 10, 2};
  struct starpu_data_filter f = {.filter_func = starpu_vector_filter_list, .nchildren = 4, .filter_arg_ptr = lengths};
  START();
  vector_case(&f, 17);
  f.filter_func = starpu_vector_filter_list_long;
  f.nchildren = 3;
  f.filter_arg_ptr = long_lengths;
  vector_case(&f, 17);
  STOP();
}

PROGRAM(filter_vector_divide_in_2) {
  struct starpu_data_filter f = {.filter_func = starpu_vector_filter_divide_in_2, .nchildren = 2};
  START();
  for (f.filter_arg = 1; f.filter_arg < 16; f.filter_arg += 5) vector_case(&f, 16);
  STOP();
}

PROGRAM(filter_chunks) {
  unsigned n, parts, id, size;
  size_t offset;
  START();
  for (n = 7; n < 30; n += 11)
    for (parts = 1; parts < 6; parts += 2)
      for (id = 0; id < parts; id++) {
        starpu_filter_nparts_compute_chunk_size_and_offset(n, parts, 4, id, 3, &size, &offset);
        SAY("%u in %u, part %u: %u at %zu", n, parts, id, size, offset);
        CHECK(size > 0 && size <= n);
      }
  STOP();
}

static void see(void *buffers[], void *arg) { memcpy(arg, buffers[0], sizeof(struct starpu_matrix_interface)); }
static void see_block(void *buffers[], void *arg) { memcpy(arg, buffers[0], sizeof(struct starpu_block_interface)); }
static struct starpu_codelet see_cl = {.cpu_funcs = {see}, .nbuffers = 1, .modes = {STARPU_R}};
static struct starpu_codelet see_block_cl = {.cpu_funcs = {see_block}, .nbuffers = 1, .modes = {STARPU_R}};

static void matrix_case(void (*func)(void *, void *, struct starpu_data_filter *, unsigned, unsigned), unsigned parts, uintptr_t shadow) {
  struct starpu_data_filter f = {.filter_func = func, .nchildren = parts, .filter_arg_ptr = (void *)shadow};
  struct starpu_matrix_interface m;
  starpu_data_handle_t h;
  double x[10 * 12];
  unsigned i;
  starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 12, 11, 10, sizeof x[0]);
  starpu_data_partition(h, &f);
  for (i = 0; i < parts; i++) {
    struct starpu_task *t = starpu_task_create();
    t->cl = &see_cl;
    t->handles[0] = starpu_data_get_child(h, i);
    t->cl_arg = &m;
    t->synchronous = 1;
    CHECK(starpu_task_submit(t) == 0);
    SAY("part %u: %u x %u, ld %u, at %ld, ptr and offset agree: %d", i, m.nx, m.ny, m.ld, (long)(m.ptr - (uintptr_t)x), m.dev_handle + m.offset == m.ptr);
    CHECK(starpu_matrix_get_nx(starpu_data_get_child(h, i)) == m.nx);
  }
  starpu_data_unpartition(h, STARPU_MAIN_RAM);
  starpu_data_unregister(h);
}

PROGRAM(filter_matrix) {
  START();
  matrix_case(starpu_matrix_filter_block, 3, 0);
  matrix_case(starpu_matrix_filter_vertical_block, 4, 0);
  STOP();
}

PROGRAM(filter_matrix_shadow) {
  START();
  matrix_case(starpu_matrix_filter_block_shadow, 3, 1);
  matrix_case(starpu_matrix_filter_vertical_block_shadow, 4, 1);
  STOP();
}

static void block_case(void (*func)(void *, void *, struct starpu_data_filter *, unsigned, unsigned), unsigned parts, uintptr_t shadow) {
  struct starpu_data_filter f = {.filter_func = func, .nchildren = parts, .filter_arg_ptr = (void *)shadow};
  struct starpu_block_interface b;
  starpu_data_handle_t h;
  int x[8 * 7 * 6];
  unsigned i;
  starpu_block_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 6, 42, 6, 7, 8, sizeof x[0]);
  starpu_data_partition(h, &f);
  for (i = 0; i < parts; i++) {
    struct starpu_task *t = starpu_task_create();
    t->cl = &see_block_cl;
    t->handles[0] = starpu_data_get_child(h, i);
    t->cl_arg = &b;
    t->synchronous = 1;
    CHECK(starpu_task_submit(t) == 0);
    SAY("part %u: %u x %u x %u, ld %u %u, at %ld", i, b.nx, b.ny, b.nz, b.ldy, b.ldz, (long)(b.ptr - (uintptr_t)x));
    CHECK(b.elemsize == sizeof x[0]);
  }
  starpu_data_unpartition(h, STARPU_MAIN_RAM);
  starpu_data_unregister(h);
}

PROGRAM(filter_block) {
  START();
  block_case(starpu_block_filter_block, 4, 0);
  block_case(starpu_block_filter_vertical_block, 3, 0);
  block_case(starpu_block_filter_depth_block, 3, 0);
  STOP();
}

PROGRAM(filter_block_shadow) {
  START();
  block_case(starpu_block_filter_block_shadow, 2, 1);
  block_case(starpu_block_filter_vertical_block_shadow, 2, 1);
  block_case(starpu_block_filter_depth_block_shadow, 3, 1);
  STOP();
}

PROGRAM(filter_vector_shadow) {
  struct starpu_data_filter f = {.filter_func = starpu_vector_filter_block_shadow, .nchildren = 3, .filter_arg_ptr = (void *)(uintptr_t)2};
  starpu_data_handle_t h;
  int x[16], i;
  START();
  for (i = 0; i < 16; i++) x[i] = i;
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 16, sizeof x[0]);
  starpu_data_partition(h, &f);
  for (i = 0; i < 3; i++) {
    starpu_data_handle_t c = starpu_data_get_child(h, (unsigned)i);
    int *p;
    CHECK(starpu_data_acquire(c, STARPU_R) == 0);
    p = (int *)starpu_vector_get_local_ptr(c);
    CHECK(starpu_vector_get_nx(c) == 8);
    CHECK(p[0] == 4 * i);
    CHECK(p[7] == 4 * i + 7);
    starpu_data_release(c);
  }
  starpu_data_unpartition(h, STARPU_MAIN_RAM);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(filter_map) {
  struct starpu_data_filter fx = {.filter_func = starpu_matrix_filter_block, .nchildren = 2};
  struct starpu_data_filter fy = {.filter_func = starpu_matrix_filter_vertical_block, .nchildren = 3};
  starpu_data_handle_t h;
  int x[6 * 4], i, j;
  START();
  for (i = 0; i < 24; i++) x[i] = i;
  starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 4, 4, 6, sizeof x[0]);
  starpu_data_map_filters(h, 2, &fx, &fy);
  for (i = 0; i < 2; i++)
    for (j = 0; j < 3; j++) {
      starpu_data_handle_t c = starpu_data_get_sub_data(h, 2, i, j);
      CHECK(starpu_matrix_get_nx(c) == 2 && starpu_matrix_get_ny(c) == 2);
      CHECK(starpu_data_acquire(c, STARPU_RW) == 0);
      CHECK(*(int *)starpu_matrix_get_local_ptr(c) == 2 * i + 8 * j);
      *(int *)starpu_matrix_get_local_ptr(c) = -1;
      starpu_data_release(c);
    }
  starpu_data_unpartition(h, STARPU_MAIN_RAM);
  starpu_data_unregister(h);
  CHECK(x[0] == -1 && x[2] == -1 && x[8] == -1 && x[18] == -1);
  CHECK(x[1] == 1 && x[23] == 23);
  STOP();
}

/* A filter of the program's own: every child is one line of a matrix, as a vector. */
static void line(void *father, void *child, struct starpu_data_filter *f, unsigned id, unsigned nparts) {
  struct starpu_matrix_interface *m = father;
  struct starpu_vector_interface *v = child;
  size_t offset = (size_t)id * m->ld * m->elemsize;
  (void)f, (void)nparts;
  v->id = STARPU_VECTOR_INTERFACE_ID;
  v->nx = m->nx;
  v->elemsize = m->elemsize;
  v->allocsize = m->nx * m->elemsize;
  if (m->dev_handle) {
    if (m->ptr) v->ptr = m->ptr + offset;
    v->dev_handle = m->dev_handle;
    v->offset = m->offset + offset;
  }
}
static struct starpu_data_interface_ops *lines_are_vectors(struct starpu_data_filter *f, unsigned id) {
  (void)f, (void)id;
  return &starpu_interface_vector_ops;
}
static unsigned as_many_as_lines(struct starpu_data_filter *f, starpu_data_handle_t h) {
  (void)f;
  return starpu_matrix_get_ny(h);
}

PROGRAM(filter_own) {
  struct starpu_data_filter f = {.filter_func = line, .get_nchildren = as_many_as_lines, .get_child_ops = lines_are_vectors};
  starpu_data_handle_t h;
  int x[5 * 4], i;
  START();
  for (i = 0; i < 20; i++) x[i] = 0;
  starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 4, 3, 5, sizeof x[0]);
  starpu_data_partition(h, &f);
  CHECK(starpu_data_get_nb_children(h) == 5);
  for (i = 0; i < 5; i++) {
    starpu_data_handle_t c = starpu_data_get_child(h, (unsigned)i);
    CHECK(starpu_data_get_interface_id(c) == STARPU_VECTOR_INTERFACE_ID);
    CHECK(starpu_vector_get_nx(c) == 3);
    CHECK(submit1(&fill_cl, c, 10 * i + 1) == 0);
  }
  starpu_data_unpartition(h, STARPU_MAIN_RAM);
  starpu_data_unregister(h);
  for (i = 0; i < 5; i++) CHECK(x[4 * i] == 10 * i + 1 && x[4 * i + 2] == 10 * i + 1 && x[4 * i + 3] == 0);
  STOP();
}

PROGRAM(filter_canonical_block) {
  int val[2 * 6] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, i;
  uint32_t col[2] = {0, 1}, row[3] = {0, 1, 2};
  struct starpu_data_filter f = {.filter_func = starpu_bcsr_filter_canonical_block,
                                 .get_nchildren = starpu_bcsr_filter_canonical_block_get_nchildren,
                                 .get_child_ops = starpu_bcsr_filter_canonical_block_child_ops};
  starpu_data_handle_t h;
  START();
  starpu_bcsr_data_register(&h, STARPU_MAIN_RAM, 2, 2, (uintptr_t)val, col, row, 0, 2, 3, sizeof val[0]);
  starpu_data_partition(h, &f);
  CHECK(starpu_data_get_nb_children(h) == 2);
  for (i = 0; i < 2; i++) {
    starpu_data_handle_t c = starpu_data_get_child(h, (unsigned)i);
    CHECK(starpu_data_get_interface_id(c) == STARPU_MATRIX_INTERFACE_ID);
    SAY("%u x %u", starpu_matrix_get_nx(c), starpu_matrix_get_ny(c));
    CHECK(starpu_matrix_get_nx(c) * starpu_matrix_get_ny(c) == 6);
    CHECK(starpu_data_acquire(c, STARPU_RW) == 0);
    CHECK(*(int *)starpu_matrix_get_local_ptr(c) == 6 * i + 1);
    *(int *)starpu_matrix_get_local_ptr(c) = 100;
    starpu_data_release(c);
  }
  starpu_data_unpartition(h, STARPU_MAIN_RAM);
  starpu_data_unregister(h);
  CHECK(val[0] == 100 && val[6] == 100 && val[1] == 2);
  STOP();
}

PROGRAM(filter_without_home) {
  struct starpu_data_filter f = {.filter_func = starpu_vector_filter_block, .nchildren = 4};
  starpu_data_handle_t h;
  int i;
  START();
  starpu_vector_data_register(&h, -1, 0, 8, sizeof(int));
  CHECK(submit1(&fill_cl, h, 1) == 0);
  starpu_data_partition(h, &f);
  for (i = 0; i < 4; i++) CHECK(submit1(&twice_cl, starpu_data_get_child(h, (unsigned)i), 0) == 0);
  starpu_data_unpartition(h, STARPU_MAIN_RAM);
  CHECK(submit1(&twice_cl, h, 0) == 0);
  CHECK(starpu_data_acquire(h, STARPU_R) == 0);
  for (i = 0; i < 8; i += 2) CHECK(((int *)starpu_vector_get_local_ptr(h))[i] == 4);
  starpu_data_release(h);
  starpu_data_unregister(h);
  STOP();
}
