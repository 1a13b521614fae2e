/* consort/layouts.h — the dense layouts that come with Consort, as applications, codelets and filters see them:
 *   *_args   what registration is given. ptr NULL: no home, the runtime allocates where the datum is first written
 *   *_shape  the logical datum: what a filter fills for its children where it retypes them (CONSORT_FI_RETYPE)
 *   *_view   one replica: what a codelet receives
 * Sizes and steps are in elements of `elem` bytes, dimensions are in order, the fastest first. Plain data: a plugin
 * that serves one of these names (interfaces "void", "variable", "vector", "matrix", "block", "tensor", "ndim") reads
 * the args and fills shapes and views exactly as written here. A layout without elements is fine: it is what a
 * partition may leave over. C11; includes <stdint.h> through plugin.h. */
#ifndef CONSORT_LAYOUTS_H
#define CONSORT_LAYOUTS_H
#include "plugin.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Address of a replica in a space that the CPU can load and store. */
static inline void *consort_ptr(consort_addr a) { return (void *)(uintptr_t)(a.base + a.off); }

typedef struct consort_variable_args { void *ptr; uint64_t bytes; } consort_variable_args; /* one object */
CONSORT_FROZEN(consort_variable_args, 16);
typedef struct consort_variable_shape { uint64_t bytes; } consort_variable_shape;
CONSORT_FROZEN(consort_variable_shape, 8);
typedef struct consort_variable_view { consort_addr addr; uint64_t bytes; } consort_variable_view;
CONSORT_FROZEN(consort_variable_view, 24);

typedef struct consort_vector_args { void *ptr; uint64_t n, elem; } consort_vector_args; /* n elements side by side */
CONSORT_FROZEN(consort_vector_args, 24);
typedef struct consort_vector_shape { uint64_t n, elem; } consort_vector_shape;
CONSORT_FROZEN(consort_vector_shape, 16);
typedef struct consort_vector_view { consort_addr addr; uint64_t n, elem; } consort_vector_view;
CONSORT_FROZEN(consort_vector_view, 32);

/* nx elements side by side in a line, ny lines, ld elements from line to line (0: nx). */
typedef struct consort_matrix_args { void *ptr; uint64_t nx, ny, ld, elem; } consort_matrix_args;
CONSORT_FROZEN(consort_matrix_args, 40);
typedef struct consort_matrix_shape { uint64_t nx, ny, elem; } consort_matrix_shape;
CONSORT_FROZEN(consort_matrix_shape, 24);
typedef struct consort_matrix_view { consort_addr addr; uint64_t nx, ny, ld, elem; } consort_matrix_view;
CONSORT_FROZEN(consort_matrix_view, 48);

/* nz planes of ny lines of nx elements: ldy elements from line to line (0: nx), ldz from plane to plane (0: ny * ldy). */
typedef struct consort_block_args { void *ptr; uint64_t nx, ny, nz, ldy, ldz, elem; } consort_block_args;
CONSORT_FROZEN(consort_block_args, 56);
typedef struct consort_block_shape { uint64_t nx, ny, nz, elem; } consort_block_shape;
CONSORT_FROZEN(consort_block_shape, 32);
typedef struct consort_block_view { consort_addr addr; uint64_t nx, ny, nz, ldy, ldz, elem; } consort_block_view;
CONSORT_FROZEN(consort_block_view, 64);

/* nt blocks, ldt elements from block to block (0: nz * ldz). */
typedef struct consort_tensor_args { void *ptr; uint64_t nx, ny, nz, nt, ldy, ldz, ldt, elem; } consort_tensor_args;
CONSORT_FROZEN(consort_tensor_args, 72);
typedef struct consort_tensor_shape { uint64_t nx, ny, nz, nt, elem; } consort_tensor_shape;
CONSORT_FROZEN(consort_tensor_shape, 40);
typedef struct consort_tensor_view { consort_addr addr; uint64_t nx, ny, nz, nt, ldy, ldz, ldt, elem; } consort_tensor_view;
CONSORT_FROZEN(consort_tensor_view, 80);

/* 1 to 8 dimensions, n[d] elements along d, step[d] elements from one to the next (0: packed behind the dimensions
 * before it). Steps may be in any order (an array of C has its smallest last), but each must step over all that the
 * smaller ones reach. Entries from `dims` on are not read in args and 0 in shapes and views. */
#define CONSORT_NDIM_MAX 8
typedef struct consort_ndim_args { void *ptr; uint64_t dims, n[CONSORT_NDIM_MAX], step[CONSORT_NDIM_MAX], elem; } consort_ndim_args;
CONSORT_FROZEN(consort_ndim_args, 152);
typedef struct consort_ndim_shape { uint64_t dims, n[CONSORT_NDIM_MAX], elem; } consort_ndim_shape;
CONSORT_FROZEN(consort_ndim_shape, 80);
typedef struct consort_ndim_view { consort_addr addr; uint64_t dims, n[CONSORT_NDIM_MAX], step[CONSORT_NDIM_MAX], elem; } consort_ndim_view;
CONSORT_FROZEN(consort_ndim_view, 160);

/* The "void" interface has no args (NULL, 0) and a view that holds nothing: it orders tasks, no more. */
typedef struct consort_void_view { uint64_t nothing; } consort_void_view;
CONSORT_FROZEN(consort_void_view, 8);

/* -- parameters of the partitions. `axis` is a dimension, 0 the fastest. Invalid ones (no parts, no such axis, sizes that do
 * not sum up) make a plan of no parts, which is refused. The README of each layout lists its filters:
 *   "blocks"   consort_split  pieces that differ by one element (line, plane) at most, the larger first; some are empty
 *                             where there are more parts than elements. "rows" (bands of lines) and "cols" (of
 *                             columns) of a matrix are this along axis 1 and 0, whatever `axis` says
 *   "cyclic"   consort_split  piece i has i, i + parts, i + 2 * parts ...
 *   "list"     CONSORT_LIST   pieces of the sizes given, which sum up to the whole
 *   "halves"   none           two pieces along the slowest dimension
 *   "tiles"    consort_tiles (matrix), consort_grid (above): "blocks" along all axes at once; the number of a tile
 *                             counts along the fastest axis first: tile j * x + i of a matrix is column i, line j
 *   "overlap"  consort_halo   "blocks" and a border around each: pieces share elements, so no task may write them
 *   "slices"   consort_slices one piece for each index along axis, of the layout with one dimension less
 *   "ndim_cyclic", "ndim_slices"  the same for every axis, also the fastest: pieces are "ndim" -- */
typedef struct consort_split { uint32_t parts, axis; } consort_split;
CONSORT_FROZEN(consort_split, 8);
typedef struct consort_tiles { uint32_t x, y; } consort_tiles; /* x bands of columns times y bands of lines */
CONSORT_FROZEN(consort_tiles, 8);
typedef struct consort_grid { uint32_t parts[CONSORT_NDIM_MAX]; } consort_grid; /* along each axis; entries beyond the last axis are not read */
CONSORT_FROZEN(consort_grid, 32);
/* Each piece extends by `width` on both sides, clipped to the datum. HALO_RIM: the datum's own outermost `width` elements are
 * border, and the pieces' cores divide the rest; so all borders have full width. */
enum { CONSORT_HALO_RIM = 1 << 0 };
typedef struct consort_halo { uint32_t parts, axis, width, flags; } consort_halo;
CONSORT_FROZEN(consort_halo, 16);
typedef struct consort_slices { uint32_t axis, reserved; } consort_slices;
CONSORT_FROZEN(consort_slices, 8);
/* A consort_split and `parts` sizes: const CONSORT_LIST(3) p = {3, 0, {10, 20, 30}}; */
#define CONSORT_LIST(count) struct { uint32_t parts, axis; uint64_t size[count]; }

#ifdef __cplusplus
}
#endif
#endif
