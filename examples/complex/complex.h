/* complex.h — what the "complex" interface and its users share: registration arguments and what a codelet sees.
 * Complex numbers as two arrays, the real parts and the imaginary ones, wherever each of them is. */
#ifndef EXAMPLE_COMPLEX_H
#define EXAMPLE_COMPLEX_H
#include <consort/plugin.h>

/* re and im NULL: no home, the runtime allocates both where the datum is first written. */
typedef struct complex_args { double *re, *im; uint64_t n; } complex_args;
typedef struct complex_view { consort_addr re, im; uint64_t n; } complex_view;

#endif
