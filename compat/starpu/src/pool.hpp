// pool.hpp — memory of tasks that the layer makes: the task and its record, side by side.
//
// Tasks are made by one thread and freed by another. Each thread keeps some blocks, and full batches go from one to the
// other, so that a block costs neither a lock nor the allocator.
#pragma once
#include "job.hpp"

namespace starpu_layer {

struct TaskBlock {
  starpu_task task;  // first, so that a task is freed by its own address
  alignas(Job) std::byte job[sizeof(Job)];
};

// A block without contents; nullptr: no memory.
TaskBlock *take_block();
// Any thread. No call into Consort or the program.
void give_block(TaskBlock *block);

}  // namespace starpu_layer
