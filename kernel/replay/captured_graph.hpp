// captured_graph.hpp — a recording whose tasks are all kernels of one worker, as one native graph of that worker's driver.
//
// Where a driver offers "consort.capture/1", such a recording is recorded there once, when it is replayed for the second
// time, and from then on a replay is one op: its carrier, a task of the kernel's own that uses all data of the recording
// as one task would, is issued in the place of the nodes. So coherence, memory and a lost device are those of any task.
// Whatever does not fit just now (somebody wants the times of tasks, no room for all data at once, something poisoned)
// goes node by node, as do all later replays where it never will.
//
// Owned by its recording. of(), replace(), changed() and give_up() under the recording's `control`, while no replay is
// pending; begin(): whoever begins a replay; the rest: the holder of the worker's token. One after the other, all of
// them: a replay hands on from one to the next as its tasks do.
#pragma once
#include <consort/driver.h>

#include <memory>
#include <vector>

#include "exec/native_graph.hpp"
#include "task/portable.hpp"
#include "task/task.hpp"

namespace consort {

struct Datum;
struct Frame;
struct ThreadState;
struct Recording;
struct Replaying;
struct Worker;

class CapturedGraph final : public NativeGraph {
 public:
  // nullptr: it is not one of these. loose: some data are used in no order.
  static std::unique_ptr<CapturedGraph> of(Replaying &, Recording &, bool loose) noexcept;
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph &) = delete;
  CapturedGraph &operator=(const CapturedGraph &) = delete;

  Task *begin() noexcept;                          // nullptr: node by node this time
  Task &carrier() const noexcept { return *carrier_; }
  Worker &worker() const noexcept { return worker_; }

  void replace(const Datum &old, Datum &now) noexcept;
  void changed() noexcept { stale_ = true; }
  void give_up() noexcept override { off_ = true; }

  consort_status prepare(void *queue, const Frame &all) noexcept override;
  consort_status launch(void *queue, const consort_op &mark) const noexcept override {
    return ext_->launch(queue, graph_, &mark);
  }
  void count() const noexcept override;
  void go_by_nodes(ThreadState &) noexcept override;

 private:
  CapturedGraph(Replaying &rt, Recording &r, Worker &w, const consort_capture_ops *ext) noexcept
      : rt_(rt), r_(r), worker_(w), ext_(ext) {}
  bool fits() const noexcept;
  bool list_data();
  Task *node(uint32_t i) const noexcept;
  consort_status look(void *queue, const Frame &all, bool anew);
  consort_status lower(uint32_t i, Frame &, const Frame &all, size_t *at, Portable::Launch &) const;
  consort_op op_of(uint32_t i, const Portable::Launch &) const noexcept;
  void release() noexcept;

  Replaying &rt_;
  Recording &r_;
  Worker &worker_;
  const consort_capture_ops *const ext_;
  Task *carrier_ = nullptr;
  Extra extra_;                                    // the carrier's
  std::string name_;
  std::vector<consort_access> data_;               // of all nodes, each datum once, as the whole uses it
  std::vector<uint32_t> place_;                    // of each access of each node, one after the other
  std::vector<std::byte> seen_;                    // the views that the graph was made for
  std::vector<Portable::Launch> steps_;            // what it launches, a node each
  uint64_t graph_ = 0;
  bool captured_ = false, stale_ = false, off_ = false, began_ = false;
  bool asks_ = false;                              // a node's range is a function's to say, each time
};

}  // namespace consort
