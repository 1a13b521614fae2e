/* consort/layouts.h — the dense layouts that come with Consort, as applications and codelets see them:
 * `*_args` is what registration is given, `*_view` is what a codelet receives for one replica.
 * Plain data: a plugin that serves one of these names (interfaces "void", "variable", "vector", "matrix")
 * reads the args and fills the views exactly as written here. C11; includes <stdint.h> through plugin.h. */
#ifndef CONSORT_LAYOUTS_H
#define CONSORT_LAYOUTS_H
#include "plugin.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Address of a replica in a space that the CPU can load and store. */
static inline void *consort_ptr(consort_addr a) { return (void *)(uintptr_t)(a.base + a.off); }

/* ptr NULL: no home; the runtime allocates where the datum is first written. */
typedef struct consort_variable_args { void *ptr; uint64_t bytes; } consort_variable_args;
CONSORT_FROZEN(consort_variable_args, 16);
typedef struct consort_variable_view { consort_addr addr; uint64_t bytes; } consort_variable_view;
CONSORT_FROZEN(consort_variable_view, 24);

typedef struct consort_vector_args { void *ptr; uint64_t n, elem; } consort_vector_args; /* n elements of elem bytes */
CONSORT_FROZEN(consort_vector_args, 24);
typedef struct consort_vector_view { consort_addr addr; uint64_t n, elem; } consort_vector_view;
CONSORT_FROZEN(consort_vector_view, 32);

/* nx contiguous elements in a line, ny lines, ld elements from line to line (0: nx). */
typedef struct consort_matrix_args { void *ptr; uint64_t nx, ny, ld, elem; } consort_matrix_args;
CONSORT_FROZEN(consort_matrix_args, 40);
typedef struct consort_matrix_view { consort_addr addr; uint64_t nx, ny, ld, elem; } consort_matrix_view;
CONSORT_FROZEN(consort_matrix_view, 48);

/* The "void" interface has no args (NULL, 0) and a view that holds nothing: it orders tasks, no more. */
typedef struct consort_void_view { uint64_t nothing; } consort_void_view;
CONSORT_FROZEN(consort_void_view, 8);

/* Parameters of the partitions. `parts` pieces that differ by one element (line, column) at most, the larger first;
 * some are empty where there are more parts than elements. "blocks" of a vector, "rows" (bands of lines) and
 * "cols" (bands of columns) of a matrix. */
typedef struct consort_split { uint32_t parts, reserved; } consort_split;
CONSORT_FROZEN(consort_split, 8);
/* "tiles" of a matrix: x bands of columns times y bands of lines; child number j * x + i is column i, line j. */
typedef struct consort_tiles { uint32_t x, y; } consort_tiles;
CONSORT_FROZEN(consort_tiles, 8);

#ifdef __cplusplus
}
#endif
#endif
