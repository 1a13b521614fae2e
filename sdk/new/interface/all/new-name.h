/* new-name.h: what programs and codelets see of the layout "new-name": n elements of `elem` bytes, side by side. */
#ifndef NEW_NAME_H
#define NEW_NAME_H
#include <consort/plugin.h>

/* For registration. ptr NULL: the runtime allocates. */
typedef struct new_name_args { void *ptr; uint64_t n, elem; } new_name_args;
/* One replica: what a codelet is given. */
typedef struct new_name_view { consort_addr addr; uint64_t n, elem; } new_name_view;
/* Parameters of the partition "blocks". */
typedef struct new_name_split { uint32_t parts; } new_name_split;
#endif
