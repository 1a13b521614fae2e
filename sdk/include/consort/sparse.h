/* consort/sparse.h — the sparse layouts that come with Consort, as applications, codelets and filters see them. Names and
 * rules are those of layouts.h: *_args, *_shape, *_view; sizes in elements, plain data, C11.
 *
 * A matrix of rows x cols of which `nnz` entries are kept, in three arrays, wherever each of them is. Numbers of rows and
 * columns, and the row pointers, have `index` bytes each: 4 (0 in args says so, too) or 8, without sign. All arrays of args
 * NULL: no home, the runtime allocates where the datum is first written. An array without elements may be NULL. */
#ifndef CONSORT_SPARSE_H
#define CONSORT_SPARSE_H
#include "layouts.h"
#ifdef __cplusplus
extern "C" {
#endif

/* "csr": row r has the entries from start[r] - first to start[r + 1] - first: value[k] stands in column[k]. `start` has
 * rows + 1 numbers (none where there are no rows), start[0] is `first`, start[rows] is first + nnz. `first` is 0, or 1 where
 * the program counts from 1, or anything: a part keeps the numbers of its whole, so its first is what its whole says there. */
typedef struct consort_csr_args { void *value, *column, *start; uint64_t rows, cols, nnz, first, elem, index; } consort_csr_args;
CONSORT_FROZEN(consort_csr_args, 72);
typedef struct consort_csr_shape { uint64_t rows, cols, nnz, first, elem, index; } consort_csr_shape;
CONSORT_FROZEN(consort_csr_shape, 48);
typedef struct consort_csr_view { consort_addr value, column, start; uint64_t rows, cols, nnz, first, elem; uint32_t index, flags; } consort_csr_view;
CONSORT_FROZEN(consort_csr_view, 96);

/* "bcsr": the same with blocks of r lines of c elements in the place of entries, each block side by side, line by line.
 * rows, cols, nnz, start and column count blocks. */
typedef struct consort_bcsr_args { void *value, *column, *start; uint64_t rows, cols, nnz, first, r, c, elem, index; } consort_bcsr_args;
CONSORT_FROZEN(consort_bcsr_args, 88);
typedef struct consort_bcsr_shape { uint64_t rows, cols, nnz, first, r, c, elem, index; } consort_bcsr_shape;
CONSORT_FROZEN(consort_bcsr_shape, 64);
typedef struct consort_bcsr_view { consort_addr value, column, start; uint64_t rows, cols, nnz, first, r, c, elem; uint32_t index, flags; } consort_bcsr_view;
CONSORT_FROZEN(consort_bcsr_view, 112);

/* "coo": entry k is value[k] in line row[k], column[k], in any order. */
typedef struct consort_coo_args { void *value, *column, *row; uint64_t rows, cols, nnz, elem, index; } consort_coo_args;
CONSORT_FROZEN(consort_coo_args, 64);
typedef struct consort_coo_shape { uint64_t rows, cols, nnz, elem, index; } consort_coo_shape;
CONSORT_FROZEN(consort_coo_shape, 40);
typedef struct consort_coo_view { consort_addr value, column, row; uint64_t rows, cols, nnz, elem; uint32_t index, flags; } consort_coo_view;
CONSORT_FROZEN(consort_coo_view, 88);

enum { /* flags of csr and bcsr views */
  CONSORT_SPARSE_BORROWED_END = 1 << 0 /* start[rows] is the next part's start[0]: to be read, never to be written */
};

/* -- partitions:
 *   "rows"    csr, bcsr: CONSORT_ROWS   bands of rows that end where said
 *   "blocks"  bcsr: none                each block a matrix of r lines of c; the structure stays the whole's
 *             coo: consort_split        as many entries each, but for one; axis is not read
 *   "list"    coo: CONSORT_LIST         as many entries each as said --
 * Where a band ends: before this row; `start` is what start[row] says, for partitions go by numbers, not by contents. The last
 * is {rows, first + nnz}. Who writes a band leaves its structure as it was, or writes such a one that `start` holds. */
typedef struct consort_row_end { uint64_t row, start; } consort_row_end;
CONSORT_FROZEN(consort_row_end, 16);
/* `numbers` is 2 * count: CONSORT_ROWS(3) p = {6, 0, {{10, 31}, {20, 70}, {30, 95}}}; */
#define CONSORT_ROWS(count) struct { uint32_t numbers, reserved; consort_row_end end[count]; }

/* Number i of an array of indices. */
static inline uint64_t consort_index_at(const void *array, uint64_t index, uint64_t i) {
  return index == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}
/* The first entry of row r in value[] and column[]; r = rows: nnz, which nobody need have written down. */
static inline uint64_t consort_csr_begin(const consort_csr_view *v, uint64_t r) {
  return r < v->rows ? consort_index_at(consort_ptr(v->start), v->index, r) - v->first : v->nnz;
}
/* As consort_csr_begin(), of rows of blocks. */
static inline uint64_t consort_bcsr_begin(const consort_bcsr_view *v, uint64_t r) {
  return r < v->rows ? consort_index_at(consort_ptr(v->start), v->index, r) - v->first : v->nnz;
}

enum { CONSORT_CUT_ROWS, CONSORT_CUT_ENTRIES };
/* Fills end[parts] for a matrix with these row pointers: bands of as many rows, or of about as many entries. */
static inline void consort_cut_rows(const void *start, uint64_t index, uint64_t rows, uint32_t parts, uint32_t how, consort_row_end *end) {
  const uint64_t first = rows ? consort_index_at(start, index, 0) : 0, all = rows ? consort_index_at(start, index, rows) - first : 0;
  uint64_t row = 0;
  for (uint32_t i = 0; i < parts; i++) {
    if (how == CONSORT_CUT_ENTRIES && i + 1 < parts) { /* the first row at which enough are behind */
      const uint64_t want = first + all / parts * (i + 1) + all % parts * (i + 1) / parts;
      uint64_t high = rows;
      while (row < high) {
        const uint64_t middle = row + (high - row) / 2;
        if (consort_index_at(start, index, middle) < want) row = middle + 1;
        else high = middle;
      }
    } else {
      row = i + 1 < parts ? rows / parts * (i + 1) + (i + 1 < rows % parts ? i + 1 : rows % parts) : rows;
    }
    end[i].row = row;
    end[i].start = rows ? consort_index_at(start, index, row) : first;
  }
}

#ifdef __cplusplus
}
#endif
#endif
