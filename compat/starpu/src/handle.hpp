// handle.hpp — a data handle: a datum of Consort, with what StarPU's calls ask about it.
#pragma once
#include <consort/consort.h>
#include <starpu.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "job.hpp"

namespace starpu_layer {

// Room for the struct of any layout.
union AnyLayout {
  enum starpu_data_interface_id id;
  starpu_variable_interface variable;
  starpu_vector_interface vector;
  starpu_matrix_interface matrix;
  starpu_block_interface block;
  starpu_csr_interface csr;
  starpu_bcsr_interface bcsr;
  starpu_coo_interface coo;
};

struct Plan {
  consort_plan_id id{0};
  std::vector<starpu_data_handle_t> parts;
};

}  // namespace starpu_layer

struct _starpu_data_state {
  // What each submission reads comes first.
  consort_data_id id{0};
  std::atomic<bool> written{false};   // whether a task, in the order of submission, has given it contents
  std::atomic<bool> ordered{true};    // sequential consistency
  starpu_data_interface_id kind = STARPU_UNKNOWN_INTERFACE_ID;
  _starpu_data_state *father = nullptr;
  starpu_layer::AnyLayout home{};     // the sizes, and the application's memory if there is any
  int home_node = -1;
  const starpu_codelet *init_cl = nullptr;
  void *user_data = nullptr;
  std::vector<int> coordinates;
  bool ooc = true;
  starpu_layer::SpinLock lock;        // holds
  std::vector<consort_hold> holds;    // accesses of the application
  std::vector<starpu_layer::Plan> plans;  // by starpu_data_partition(): at most one, the last
  bool partitioned = false;
};

namespace starpu_layer {

// Gives the datum contents if its codelet says how, before a task reads them for the first time.
void initialise_if_needed(starpu_data_handle_t handle, unsigned mode);
// Notes that a task or the application writes the datum.
inline void note_written(starpu_data_handle_t handle) {
  for (_starpu_data_state *h = handle; h && !h->written.load(std::memory_order_relaxed); h = h->father)
    h->written.store(true, std::memory_order_relaxed);
}
// StarPU's mode as one of Consort.
uint32_t mode_of(unsigned mode);
// The struct of the layout that the application may read now: its memory, or what it holds.
const AnyLayout &local(starpu_data_handle_t handle);
// The number of bytes of the contents.
uint64_t bytes_of(const AnyLayout &layout);
// Where its first array begins; null: no memory.
void *pointer_of(const AnyLayout &layout);
// Registers a new handle at this address of the application's, or removes it.
void remember(starpu_data_handle_t handle);
void forget(starpu_data_handle_t handle);
// Frees the handles of the parts of all its plans, and theirs.
void drop_plans(starpu_data_handle_t handle);
// Waits for the access; answers as starpu_data_acquire().
int acquire(starpu_data_handle_t handle, unsigned mode, bool ordered = true);
void release(starpu_data_handle_t handle);
int acquire_later(starpu_data_handle_t handle, unsigned mode, void (*callback)(void *), void *arg, bool ordered);

}  // namespace starpu_layer
