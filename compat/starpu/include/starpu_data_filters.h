/* starpu_data_filters.h: partitions of data. */
#ifndef CONSORT_STARPU_DATA_FILTERS_H
#define CONSORT_STARPU_DATA_FILTERS_H
#include <stdarg.h>

#include <starpu_data_interfaces.h>
#ifdef __cplusplus
extern "C" {
#endif

struct starpu_data_interface_ops;
struct starpu_data_filter {
  void (*filter_func)(void *father_interface, void *child_interface, struct starpu_data_filter *, unsigned id,
                      unsigned nparts);
  unsigned nchildren;
  unsigned (*get_nchildren)(struct starpu_data_filter *, starpu_data_handle_t initial_handle);
  struct starpu_data_interface_ops *(*get_child_ops)(struct starpu_data_filter *, unsigned id);
  unsigned filter_arg;
  void *filter_arg_ptr;
};
/* What get_child_ops answers for children of another layout than their father's. */
extern struct starpu_data_interface_ops starpu_interface_matrix_ops, starpu_interface_block_ops,
    starpu_interface_vector_ops, starpu_interface_csr_ops, starpu_interface_bcsr_ops, starpu_interface_variable_ops,
    starpu_interface_void_ops, starpu_interface_coo_ops;

/* Partitions that wait. */
void starpu_data_partition(starpu_data_handle_t initial_handle, struct starpu_data_filter *f);
void starpu_data_unpartition(starpu_data_handle_t root_data, unsigned gathering_node);
starpu_data_handle_t starpu_data_get_child(starpu_data_handle_t handle, unsigned i);
int starpu_data_get_nb_children(starpu_data_handle_t handle);
starpu_data_handle_t starpu_data_get_sub_data(starpu_data_handle_t root_data, unsigned depth, ... );
starpu_data_handle_t starpu_data_vget_sub_data(starpu_data_handle_t root_data, unsigned depth, va_list pa);
void starpu_data_map_filters(starpu_data_handle_t root_data, unsigned nfilters, ...);
void starpu_data_vmap_filters(starpu_data_handle_t root_data, unsigned nfilters, va_list pa);

/* Partitions in the order of the tasks. */
void starpu_data_partition_plan(starpu_data_handle_t initial_handle, struct starpu_data_filter *f,
    starpu_data_handle_t *children);
void starpu_data_partition_submit(starpu_data_handle_t initial_handle, unsigned nparts, starpu_data_handle_t
    *children);
void starpu_data_partition_readonly_submit(starpu_data_handle_t initial_handle, unsigned nparts,
    starpu_data_handle_t *children);
void starpu_data_partition_readwrite_upgrade_submit(starpu_data_handle_t initial_handle, unsigned nparts,
    starpu_data_handle_t *children);
void starpu_data_unpartition_submit(starpu_data_handle_t initial_handle, unsigned nparts, starpu_data_handle_t
    *children, int gathering_node);
void starpu_data_unpartition_submit_r(starpu_data_handle_t initial_handle, int gathering_node);
void starpu_data_unpartition_readonly_submit(starpu_data_handle_t initial_handle, unsigned nparts,
    starpu_data_handle_t *children, int gathering_node);
void starpu_data_partition_clean(starpu_data_handle_t root_data, unsigned nparts, starpu_data_handle_t *children);
void starpu_data_partition_submit_sequential_consistency(starpu_data_handle_t initial_handle, unsigned nparts,
    starpu_data_handle_t *children, int sequential_consistency);
void starpu_data_unpartition_submit_sequential_consistency(starpu_data_handle_t initial_handle, unsigned nparts,
    starpu_data_handle_t *children, int gathering_node, int sequential_consistency);
void starpu_data_unpartition_submit_sequential_consistency_cb(starpu_data_handle_t initial_handle, unsigned nparts,
    starpu_data_handle_t *children, int gather_node, int sequential_consistency, void (*callback_func)(void *), void
    *callback_arg);

/* Filters. */
void starpu_vector_filter_block(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_vector_filter_block_shadow(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_vector_filter_list_long(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_vector_filter_list(void *father_interface, void *child_interface, struct starpu_data_filter *f, unsigned
    id, unsigned nparts);
void starpu_vector_filter_divide_in_2(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_matrix_filter_block(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_matrix_filter_block_shadow(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_matrix_filter_vertical_block(void *father_interface, void *child_interface, struct starpu_data_filter
    *f, unsigned id, unsigned nparts);
void starpu_matrix_filter_vertical_block_shadow(void *father_interface, void *child_interface, struct
    starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_block_filter_block(void *father_interface, void *child_interface, struct starpu_data_filter *f, unsigned
    id, unsigned nparts);
void starpu_block_filter_block_shadow(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_block_filter_vertical_block(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_block_filter_vertical_block_shadow(void *father_interface, void *child_interface, struct
    starpu_data_filter *f, unsigned id, unsigned nparts);
void starpu_block_filter_depth_block(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
void starpu_block_filter_depth_block_shadow(void *father_interface, void *child_interface, struct starpu_data_filter
    *f, unsigned id, unsigned nparts);
void starpu_bcsr_filter_canonical_block(void *father_interface, void *child_interface, struct starpu_data_filter *f,
    unsigned id, unsigned nparts);
unsigned starpu_bcsr_filter_canonical_block_get_nchildren(struct starpu_data_filter *f, starpu_data_handle_t handle);
struct starpu_data_interface_ops *starpu_bcsr_filter_canonical_block_child_ops(struct starpu_data_filter *f,
    unsigned child);
void starpu_filter_nparts_compute_chunk_size_and_offset(unsigned n, unsigned nparts, size_t elemsize, unsigned id,
    unsigned ld, unsigned *chunk_size, size_t *offset);

#ifdef __cplusplus
}
#endif
#endif
