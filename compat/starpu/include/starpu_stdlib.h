/* starpu_stdlib.h: memory that devices reach fast, and limits of memory. */
#ifndef CONSORT_STARPU_STDLIB_H
#define CONSORT_STARPU_STDLIB_H
#include <starpu_config.h>
#ifdef __cplusplus
extern "C" {
#endif

#define STARPU_MALLOC_PINNED (1ULL << 1)
#define STARPU_MALLOC_COUNT (1ULL << 2)
#define STARPU_MALLOC_NORECLAIM (1ULL << 3)
#define STARPU_MEMORY_WAIT (1ULL << 4)
#define STARPU_MEMORY_OVERFLOW (1ULL << 5)
#define STARPU_MALLOC_SIMULATION_FOLDED (1ULL << 6)
#define starpu_data_malloc_pinned_if_possible starpu_malloc
#define starpu_data_free_pinned_if_possible starpu_free

typedef int (*starpu_malloc_hook)(unsigned dst_node, void **A, size_t dim, int flags);
typedef int (*starpu_free_hook)(unsigned dst_node, void *A, size_t dim, int flags);
int starpu_malloc(void **A, size_t dim);
int starpu_malloc_flags(void **A, size_t dim, int flags);
int starpu_free(void *A);
int starpu_free_flags(void *A, size_t dim, int flags);
void starpu_malloc_set_align(size_t align);
void starpu_malloc_set_hooks(starpu_malloc_hook malloc_hook, starpu_free_hook free_hook);
int starpu_memory_pin(void *addr, size_t size);
int starpu_memory_unpin(void *addr, size_t size);
starpu_ssize_t starpu_memory_get_total(unsigned node);
starpu_ssize_t starpu_memory_get_available(unsigned node);
starpu_ssize_t starpu_memory_get_total_all_nodes(void);
starpu_ssize_t starpu_memory_get_available_all_nodes(void);
int starpu_memory_allocate(unsigned node, size_t size, int flags);
void starpu_memory_deallocate(unsigned node, size_t size);
void starpu_memory_wait_available(unsigned node, size_t size);
void starpu_sleep(float nb_sec);
void starpu_usleep(float nb_micro_sec);

#ifdef __cplusplus
}
#endif
#endif
