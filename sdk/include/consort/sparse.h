/* consort/sparse.h — the sparse layouts that come with Consort, for applications, codelets and filters. Names and
 * rules are those of layouts.h: *_args, *_shape, *_view; sizes in elements, plain data, C11.
 *
 * A matrix of rows x cols with `nnz` stored entries, in three separate arrays. Numbers of rows and columns, and the row pointers, are
 * unsigned integers of `index` bytes: 4 (also 0 in args) or 8. All arrays of args NULL: no home, the runtime allocates where the datum
 * is first written. An array without elements may be NULL. */
#ifndef CONSORT_SPARSE_H
#define CONSORT_SPARSE_H
#include "layouts.h"
#ifdef __cplusplus
extern "C" {
#endif

/* "csr": row r has the entries from start[r] - first to start[r + 1] - first: value[k] stands in column[k]. `start` has rows + 1
 * numbers (none without rows); start[0] is `first`, start[rows] is first + nnz. `first` is 0, or 1 if the program counts from 1, or any
 * number: a part keeps the row pointers of its whole, so its `first` is their value at its first row. */
typedef struct consort_csr_args { void *value, *column, *start; uint64_t rows, cols, nnz, first, elem, index; } consort_csr_args;
CONSORT_FROZEN(consort_csr_args, 72);
typedef struct consort_csr_shape { uint64_t rows, cols, nnz, first, elem, index; } consort_csr_shape;
CONSORT_FROZEN(consort_csr_shape, 48);
typedef struct consort_csr_view { consort_addr value, column, start; uint64_t rows, cols, nnz, first, elem; uint32_t index, flags; } consort_csr_view;
CONSORT_FROZEN(consort_csr_view, 96);

/* "bcsr": the same with blocks of r lines of c elements in place of entries; a block is contiguous, line by line.
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
 *   "rows"    csr, bcsr: CONSORT_ROWS   bands of rows with the given ends
 *   "blocks"  bcsr: none                each block is a matrix of r lines of c; the structure stays that of the whole
 *             coo: consort_split        equal numbers of entries, up to a difference of one; axis is not read
 *   "list"    coo: CONSORT_LIST         the given numbers of entries --
 * A band ends before row `row`; `start` is start[row], because partitions depend on numbers, not on contents. The last end is
 * {rows, first + nnz}. A task that writes a band keeps its structure, or writes a structure for which `start` holds. */
typedef struct consort_row_end { uint64_t row, start; } consort_row_end;
CONSORT_FROZEN(consort_row_end, 16);
/* `numbers` is 2 * count: CONSORT_ROWS(3) p = {6, 0, {{10, 31}, {20, 70}, {30, 95}}}; */
#define CONSORT_ROWS(count) struct { uint32_t numbers, reserved; consort_row_end end[count]; }

/* Number i of an array of indices. */
static inline uint64_t consort_index_at(const void *array, uint64_t index, uint64_t i) {
  return index == 8 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}
/* The first entry of row r in value[] and column[]; r = rows: nnz, also if start[rows] was not written. */
static inline uint64_t consort_csr_begin(const consort_csr_view *v, uint64_t r) {
  return r < v->rows ? consort_index_at(consort_ptr(v->start), v->index, r) - v->first : v->nnz;
}
/* As consort_csr_begin(), of rows of blocks. */
static inline uint64_t consort_bcsr_begin(const consort_bcsr_view *v, uint64_t r) {
  return r < v->rows ? consort_index_at(consort_ptr(v->start), v->index, r) - v->first : v->nnz;
}

enum { CONSORT_CUT_ROWS, CONSORT_CUT_ENTRIES };
/* Fills end[parts] for a matrix with these row pointers: bands of equal numbers of rows, or of about equal numbers of entries. */
static inline void consort_cut_rows(const void *start, uint64_t index, uint64_t rows, uint32_t parts, uint32_t how, consort_row_end *end) {
  const uint64_t first = rows ? consort_index_at(start, index, 0) : 0, all = rows ? consort_index_at(start, index, rows) - first : 0;
  uint64_t row = 0;
  for (uint32_t i = 0; i < parts; i++) {
    if (how == CONSORT_CUT_ENTRIES && i + 1 < parts) { /* the first row with enough entries before it */
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
