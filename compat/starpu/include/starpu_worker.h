/* starpu_worker.h: workers and memory nodes. */
#ifndef CONSORT_STARPU_WORKER_H
#define CONSORT_STARPU_WORKER_H
#include <stdio.h>
#include <stdlib.h>

#include <starpu_config.h>
#include <starpu_task.h>
#ifdef __cplusplus
extern "C" {
#endif

enum starpu_node_kind {
  STARPU_UNUSED = 0,
  STARPU_CPU_RAM = 1,
  STARPU_CUDA_RAM = 2,
  STARPU_OPENCL_RAM = 3,
  STARPU_DISK_RAM = 4,
  STARPU_MIC_RAM = 5,
  STARPU_MPI_MS_RAM = 6
};
enum starpu_worker_archtype {
  STARPU_CPU_WORKER = 0,
  STARPU_CUDA_WORKER = 1,
  STARPU_OPENCL_WORKER = 2,
  STARPU_MIC_WORKER = 3,
  STARPU_MPI_MS_WORKER = 5,
  STARPU_ANY_WORKER = 6
};

unsigned starpu_worker_get_count(void);
unsigned starpu_cpu_worker_get_count(void);
unsigned starpu_cuda_worker_get_count(void);
unsigned starpu_opencl_worker_get_count(void);
unsigned starpu_mic_worker_get_count(void);
unsigned starpu_mpi_ms_worker_get_count(void);
unsigned starpu_mic_device_get_count(void);
unsigned starpu_combined_worker_get_count(void);
int starpu_worker_get_id(void);
unsigned _starpu_worker_get_id_check(const char *f, int l);
#define starpu_worker_get_id_check() _starpu_worker_get_id_check(__FILE__, __LINE__)
int starpu_worker_get_bindid(int workerid);
enum starpu_worker_archtype starpu_worker_get_type(int id);
int starpu_worker_get_count_by_type(enum starpu_worker_archtype type);
unsigned starpu_worker_get_ids_by_type(enum starpu_worker_archtype type, int *workerids, unsigned maxsize);
int starpu_worker_get_by_type(enum starpu_worker_archtype type, int num);
int starpu_worker_get_by_devid(enum starpu_worker_archtype type, int devid);
int starpu_worker_get_devid(int id);
int starpu_worker_get_devids(enum starpu_worker_archtype type, int *devids, int num);
void starpu_worker_get_name(int id, char *dst, size_t maxlen);
void starpu_worker_display_names(FILE *output, enum starpu_worker_archtype type);
char *starpu_worker_get_type_as_string(enum starpu_worker_archtype type);
unsigned starpu_worker_is_combined_worker(int id);
int starpu_combined_worker_get_id(void);
int starpu_combined_worker_get_size(void);
int starpu_combined_worker_get_rank(void);
unsigned starpu_worker_is_blocked_in_parallel(int workerid);
unsigned starpu_worker_is_slave_somewhere(int workerid);
unsigned starpu_worker_get_local_memory_node(void);
unsigned starpu_worker_get_memory_node(unsigned workerid);
unsigned starpu_memory_nodes_get_count(void);
int starpu_memory_node_get_name(unsigned node, char *name, size_t size);
int starpu_memory_node_get_devid(unsigned node);
int starpu_memory_nodes_get_numa_count(void);
enum starpu_node_kind starpu_node_get_kind(unsigned node);

#ifdef __cplusplus
}
#endif
#endif
