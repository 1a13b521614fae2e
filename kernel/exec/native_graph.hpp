// native_graph.hpp — many tasks as one graph of a device, as the queue that launches it knows it.
//
// A carrier is the task that stands for them all (TaskKind::kCarrier): it is issued in their place. The room replay
// implements the graph. All functions are the token holder's.
#pragma once
#include <consort/driver.h>

#include <cstring>

#include "task/task.hpp"

namespace consort {

struct Frame;
struct ThreadState;

class NativeGraph {
 public:
  // All data are here, in all.views. OK: the graph stands, with what is to be launched now. < 0: told in the error slot.
  virtual consort_status prepare(void *queue, const Frame &all) noexcept = 0;
  // OK: launched; its end is reported as that of `mark`. > 0: the queue is full. < 0: refused.
  virtual consort_status launch(void *queue, const consort_op &mark) const noexcept = 0;
  virtual void count() const noexcept = 0;         // its tasks have run
  virtual void give_up() noexcept = 0;             // it is never launched again
  // The carrier is not to run, or has failed: its data are let go, and the tasks begin one by one.
  virtual void go_by_nodes(ThreadState &) noexcept = 0;

  // The graph that a carrier stands for; it is in the first word of the carrier's payload.
  static NativeGraph &of(const Task &carrier) noexcept {
    NativeGraph *g;
    std::memcpy(&g, carrier.payload, sizeof g);
    return *g;
  }

 protected:
  ~NativeGraph() = default;  // its recording owns it
};

}  // namespace consort
