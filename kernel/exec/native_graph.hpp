// native_graph.hpp — the interface of a native device graph that replaces many tasks, as a queue launches it.
//
// A carrier is the task that is issued in their place (TaskKind::kCarrier). The room replay implements the graph. All
// functions are called by the token holder.
#pragma once
#include <consort/driver.h>

#include <cstring>

#include "task/task.hpp"

namespace consort {

struct Frame;
struct ThreadState;

class NativeGraph {
 public:
  // Precondition: all data are in all.views. OK: the graph is ready to launch. < 0: error text set.
  virtual consort_status prepare(void *queue, const Frame &all) noexcept = 0;
  // OK: launched; its end is reported as that of `mark`. > 0: the queue is full. < 0: refused.
  virtual consort_status launch(void *queue, const consort_op &mark) const noexcept = 0;
  virtual void count() const noexcept = 0;         // its tasks have run
  virtual void give_up() noexcept = 0;             // it is never launched again
  // The carrier is not run, or has failed: releases its data and begins the tasks one by one.
  virtual void go_by_nodes(ThreadState &) noexcept = 0;

  // Returns the graph of a carrier, stored in the first word of its payload.
  static NativeGraph &of(const Task &carrier) noexcept {
    NativeGraph *g;
    std::memcpy(&g, carrier.payload, sizeof g);
    return *g;
  }

 protected:
  ~NativeGraph() = default;  // owned by its recording
};

}  // namespace consort
