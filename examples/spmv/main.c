/* spmv — y := A x, A sparse, in three layouts: by rows (csr) and by rows of 2 x 2 blocks (bcsr), in bands whose parts of y belong
 * to one task each, and as a list of entries (coo), of which each piece adds to all of y, so y is reduced. A is the
 * five-point stencil on a grid. Compared with a plain loop.   spmv [SIDE [PARTS]] */
#include "example.h"

#include <consort/sparse.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static consort_status csr_product(const consort_call *call) { /* R: a band of A, R: x, W: its part of y */
  const consort_csr_view *a = call->views[0];
  const consort_vector_view *vx = call->views[1], *vy = call->views[2];
  const double *value = consort_ptr(a->value), *x = consort_ptr(vx->addr);
  const uint32_t *column = consort_ptr(a->column);
  double *y = consort_ptr(vy->addr);
  for (uint64_t i = 0; i < a->rows; i++) {
    y[i] = 0;
    for (uint64_t k = consort_csr_begin(a, i); k < consort_csr_begin(a, i + 1); k++) y[i] += value[k] * x[column[k]];
  }
  return CONSORT_OK;
}

static consort_status bcsr_product(const consort_call *call) { /* the same; an entry is a block of r lines of c */
  const consort_bcsr_view *a = call->views[0];
  const consort_vector_view *vx = call->views[1], *vy = call->views[2];
  const double *value = consort_ptr(a->value), *x = consort_ptr(vx->addr);
  const uint32_t *column = consort_ptr(a->column);
  double *y = consort_ptr(vy->addr);
  memset(y, 0, vy->n * sizeof *y);
  for (uint64_t i = 0; i < a->rows; i++)
    for (uint64_t k = consort_bcsr_begin(a, i); k < consort_bcsr_begin(a, i + 1); k++)
      for (uint64_t r = 0; r < a->r; r++)
        for (uint64_t c = 0; c < a->c; c++) y[i * a->r + r] += value[(k * a->r + r) * a->c + c] * x[column[k] * a->c + c];
  return CONSORT_OK;
}

static consort_status coo_product(const consort_call *call) { /* R: a piece of A, R: x, REDUX: y */
  const consort_coo_view *a = call->views[0];
  const consort_vector_view *vx = call->views[1], *vy = call->views[2];
  const double *value = consort_ptr(a->value), *x = consort_ptr(vx->addr);
  const uint32_t *row = consort_ptr(a->row), *column = consort_ptr(a->column);
  double *y = consort_ptr(vy->addr);
  for (uint64_t k = 0; k < a->nnz; k++) y[row[k]] += value[k] * x[column[k]];
  return CONSORT_OK;
}

static consort_status zero(const consort_call *call) { /* W: a copy of y, to begin with */
  const consort_vector_view *y = call->views[0];
  memset(consort_ptr(y->addr), 0, y->n * sizeof(double));
  return CONSORT_OK;
}
static consort_status unite(const consort_call *call) { /* RW, R: two copies become one */
  const consort_vector_view *a = call->views[0], *b = call->views[1];
  double *to = consort_ptr(a->addr);
  const double *from = consort_ptr(b->addr);
  for (uint64_t i = 0; i < a->n; i++) to[i] += from[i];
  return CONSORT_OK;
}

static consort_data_id sparse(consort_runtime *rt, const char *layout, const void *args, uint64_t bytes) {
  const consort_data_desc desc = {.size = sizeof desc, .interface = layout, .args = args, .args_bytes = bytes, .name = layout};
  consort_data_id id;
  check(consort_register(rt, &desc, &id), layout);
  return id;
}
static void cut(consort_runtime *rt, consort_data_id whole, const char *filter, const void *params, uint64_t bytes,
                consort_data_id *part, uint32_t parts) {
  consort_plan_desc desc = CONSORT_PLAN_INIT;
  consort_plan_id plan;
  desc.filter = filter;
  desc.params = params;
  desc.params_bytes = bytes;
  check(consort_plan_create(rt, whole, &desc, &plan), filter);
  check(consort_plan_parts(rt, plan, part, parts) == parts ? CONSORT_OK : CONSORT_E_INTERNAL, "the parts of a plan");
}
/* A matrix in bands with about as many entries each, and y in pieces of as many rows: the row pointers say where. */
static void by_bands(consort_runtime *rt, consort_codelet_id product, consort_data_id a, const uint32_t *start, uint64_t rows,
                     uint64_t lines, consort_data_id x, consort_data_id y, uint32_t parts, void *room, consort_data_id *part) {
  CONSORT_ROWS(1) *bands = room;
  CONSORT_LIST(1) *pieces = (void *)((char *)room + sizeof *bands + parts * sizeof(consort_row_end));
  bands->numbers = 2 * parts;
  bands->reserved = 0;
  pieces->parts = parts;
  pieces->axis = 0;
  consort_cut_rows(start, sizeof *start, rows, parts, CONSORT_CUT_ENTRIES, bands->end);
  for (uint32_t i = 0; i < parts; i++) pieces->size[i] = (bands->end[i].row - (i ? bands->end[i - 1].row : 0)) * lines;
  cut(rt, a, "rows", bands, 8 + parts * sizeof(consort_row_end), part, parts);
  cut(rt, y, "list", pieces, 8 + parts * sizeof(uint64_t), part + parts, parts);
  for (uint32_t i = 0; i < parts; i++)
    submit(rt, product, (consort_use[]){{part[i], CONSORT_M_R, 0}, {x, CONSORT_M_R, 0}, {part[parts + i], CONSORT_M_W, 0}}, 3);
}

int main(int argc, char **argv) {
  const uint64_t side = argc > 1 ? strtoull(argv[1], NULL, 10) : 200;
  const uint32_t parts = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 8;
  if (side < 2 || side % 2 || side > 4096 || parts == 0 || parts > 65536)
    return fputs("usage: spmv [SIDE [PARTS]], SIDE even and up to 4096, PARTS up to 65536\n", stderr), 2;
  const uint64_t n = side * side, blocks = n / 2, most = 5 * n;
  double *value = malloc(most * sizeof *value), *block = calloc(4 * 5 * blocks, sizeof *block);
  double *x = malloc(n * sizeof *x), *y[3], *expected = calloc(n, sizeof *expected);
  uint32_t *row = malloc(most * sizeof *row), *column = malloc(most * sizeof *column), *start = malloc((n + 1) * sizeof *start);
  uint32_t *bstart = malloc((blocks + 1) * sizeof *bstart), *bcolumn = malloc(5 * blocks * sizeof *bcolumn);
  void *room = malloc(64 + parts * (sizeof(consort_row_end) + sizeof(uint64_t)));
  consort_data_id *part = malloc(2 * (size_t)parts * sizeof *part);
  for (int l = 0; l < 3; l++) y[l] = malloc(n * sizeof *y[l]);
  if (!value || !block || !x || !expected || !row || !column || !start || !bstart || !bcolumn || !room || !part || !y[0] || !y[1] || !y[2])
    return fputs("spmv: out of memory; ask for a smaller SIDE\n", stderr), 1;

  /* Entries row by row; two rows that follow one another share their blocks. */
  uint64_t nnz = 0, nblocks = 0;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t line = i / side, at = i % side;
    const int there[5] = {line > 0, at > 0, 1, at + 1 < side, line + 1 < side};
    const uint64_t other[5] = {i - side, i - 1, i, i + 1, i + side};
    start[i] = (uint32_t)nnz;
    if (i % 2 == 0) bstart[i / 2] = (uint32_t)nblocks;
    x[i] = (double)(i * 7 % 11) - 5;
    for (int d = 0; d < 5; d++) {
      if (!there[d]) continue;
      const double e = d == 2 ? 4.0 : -1.0 - (double)(i % 3) / 4;
      uint64_t b = bstart[i / 2];
      while (b < nblocks && bcolumn[b] != other[d] / 2) b++;
      if (b == nblocks) bcolumn[nblocks++] = (uint32_t)(other[d] / 2);
      block[4 * b + 2 * (i % 2) + other[d] % 2] = e;
      row[nnz] = (uint32_t)i, column[nnz] = (uint32_t)other[d], value[nnz++] = e;
    }
  }
  start[n] = (uint32_t)nnz;
  bstart[blocks] = (uint32_t)nblocks;

  consort_settings settings = CONSORT_SETTINGS_INIT;
  consort_runtime *rt;
  check(consort_start(&settings, &rt), "start");
  const consort_codelet_id csr = codelet(rt, "csr product", csr_product), bcsr = codelet(rt, "bcsr product", bcsr_product),
                           coo = codelet(rt, "coo product", coo_product);
  const consort_csr_args rows = {.value = value, .column = column, .start = start, .rows = n, .cols = n, .nnz = nnz, .elem = 8};
  const consort_bcsr_args squares = {.value = block, .column = bcolumn, .start = bstart, .rows = blocks, .cols = blocks,
                                     .nnz = nblocks, .r = 2, .c = 2, .elem = 8};
  consort_coo_args entries = {.rows = n, .cols = n, .nnz = nnz, .elem = 8};
  entries.value = malloc(nnz * sizeof *value); /* data do not share memory: what one task writes another might read */
  entries.column = malloc(nnz * sizeof *column);
  entries.row = row;
  if (!entries.value || !entries.column) return fputs("spmv: out of memory; ask for a smaller SIDE\n", stderr), 1;
  memcpy(entries.value, value, nnz * sizeof *value);
  memcpy(entries.column, column, nnz * sizeof *column);
  const consort_data_id a[3] = {sparse(rt, "csr", &rows, sizeof rows), sparse(rt, "bcsr", &squares, sizeof squares),
                                sparse(rt, "coo", &entries, sizeof entries)};
  consort_data_id vx, vy[3];
  check(consort_register_vector(rt, x, n, sizeof *x, &vx), "register x");
  for (int l = 0; l < 3; l++) check(consort_register_vector(rt, y[l], n, sizeof *x, &vy[l]), "register y");

  by_bands(rt, csr, a[0], start, n, 1, vx, vy[0], parts, room, part);
  by_bands(rt, bcsr, a[1], bstart, blocks, 2, vx, vy[1], parts, room, part);
  check(consort_data_set_reduction(rt, vy[2], codelet(rt, "zero", zero), codelet(rt, "unite", unite)), "set_reduction");
  check(consort_invalidate(rt, vy[2]), "invalidate"); /* what y holds is no part of the sum */
  const consort_split split = {parts, 0};
  cut(rt, a[2], "blocks", &split, sizeof split, part, parts);
  for (uint32_t i = 0; i < parts; i++)
    submit(rt, coo, (consort_use[]){{part[i], CONSORT_M_R, 0}, {vx, CONSORT_M_R, 0}, {vy[2], CONSORT_M_REDUX, 0}}, 3);
  for (int l = 0; l < 3; l++) check(consort_unregister(rt, a[l]), "unregister A");
  for (int l = 0; l < 3; l++) check(consort_unregister(rt, vy[l]), "unregister y");
  check(consort_unregister(rt, vx), "unregister x");
  check(consort_stop(rt), "stop");

  double worst = 0;
  for (uint64_t k = 0; k < nnz; k++) expected[row[k]] += value[k] * x[column[k]];
  for (int l = 0; l < 3; l++)
    for (uint64_t i = 0; i < n; i++) {
      const double off = fabs(expected[i] - y[l][i]);
      if (!(off <= worst)) worst = off;
    }
  const int simulated = is_nothing_computed();
  if (!simulated)
    printf("spmv: %llu rows, %llu entries, %llu blocks, %u parts, largest error %.1e\n", (unsigned long long)n,
           (unsigned long long)nnz, (unsigned long long)nblocks, parts, worst);
  void *all[] = {value, block, x, y[0], y[1], y[2], expected, row, column, start, bstart, bcolumn, room, part, entries.value, entries.column};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  return !simulated && !(worst < 1e-12);
}
