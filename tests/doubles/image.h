/* A compiled module as the doubles know it: an ELF shared object for the host that exports one symbol,
 * consort_double_image. The double of the compiler makes such images; tests may make them by hand. */
#ifndef CONSORT_TESTS_DOUBLES_IMAGE_H
#define CONSORT_TESTS_DOUBLES_IMAGE_H

enum { consort_double_image_version = 1 };

enum {                            /* what the compiler knows of a parameter */
       consort_double_value = 0,  /* no pointer */
       consort_double_reads = 1,  /* points to const */
       consort_double_writes = 2, /* points to what may be written */
       consort_double_unknown = 3 /* a struct or a word that may hold pointers */
};

struct consort_double_param {
  unsigned size, offset, kind;
};

struct consort_double_launch {
  unsigned grid[3], block[3], shared;
};

struct consort_double_kernel {
  const char *name; /* as in the source; the symbol of `function`, if that has one, is what modules know it by */
  const void *function;
  void (*run)(void **params, const struct consort_double_launch *launch);
  const struct consort_double_param *params;
  unsigned param_count, static_shared;
};

struct consort_double_image {
  unsigned version, kernel_count;
  const struct consort_double_kernel *kernels;
};
#endif
