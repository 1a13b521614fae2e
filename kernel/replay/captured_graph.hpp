// captured_graph.hpp — a recording of kernels of one worker, executed as one native graph of that worker's driver.
//
// If the driver offers "consort.capture/1", the recording is captured at its second replay. From then on a replay is
// one op. Its carrier, an internal task that uses all data of the recording, is issued in place of the nodes. So
// coherence, memory and lost devices are handled as for any task. If a condition is not met (times of tasks are
// observed, the data do not fit at once, a datum is poisoned), this replay runs node by node. If the recording can
// never be captured, all later ones do.
//
// Owned by its recording. of(), replace(), changed() and give_up() are called under the recording's `control` while no
// replay is pending. begin() is called by the thread that begins a replay, the rest by the holder of the worker's
// token. These calls are ordered by the replays, as their tasks are.
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
  // Returns nullptr if the recording does not qualify. loose: some data are used without order.
  static std::unique_ptr<CapturedGraph> of(Replaying &, Recording &, bool loose) noexcept;
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph &) = delete;
  CapturedGraph &operator=(const CapturedGraph &) = delete;

  Task *begin() noexcept;                          // nullptr: this replay runs node by node
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
  Extra extra_;                                    // of the carrier
  std::string name_;
  std::vector<consort_access> data_;               // data of all nodes, each once, with the union of the modes
  std::vector<uint32_t> place_;                    // index in data_ of each access of each node
  std::vector<std::byte> seen_;                    // the views for which the graph was made
  std::vector<Portable::Launch> steps_;            // launches of the graph, one for each node
  uint64_t graph_ = 0;
  bool captured_ = false, stale_ = false, off_ = false, began_ = false;
  bool asks_ = false;                              // the range of a node is computed by a function at each launch
};

}  // namespace consort
