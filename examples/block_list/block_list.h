/* block_list.h — what the "block_list" interface and its users share: a datum that is a list of blocks of doubles, each of
 * a size of its own, each wherever it is. */
#ifndef EXAMPLE_BLOCK_LIST_H
#define EXAMPLE_BLOCK_LIST_H
#include <consort/plugin.h>

/* A shape and a view are at most 256 bytes, and a replica is made of at most 16 allocations. */
enum { BLOCK_LIST_MAX = 12 };

/* `count` blocks of n[i] doubles. ptr[i] all NULL: no home, the runtime allocates where the list is first written. */
typedef struct block_list_args {
  uint32_t count, n[BLOCK_LIST_MAX];
  double *ptr[BLOCK_LIST_MAX];
} block_list_args;
typedef struct block_list_view {
  uint32_t count, n[BLOCK_LIST_MAX];
  consort_addr at[BLOCK_LIST_MAX];
} block_list_view;

#endif
