// exec_room.hpp — the state of the room exec, or of one above, on host memory alone: executors, stepped by hand.
#pragma once
#include <consort/memory.h>

#include "exec/execution.hpp"
#include "exec/wait.hpp"
#include "graph/graph_room.hpp"

namespace consort_test {

// In place of the room memory: every datum is where the application has it, and no task waits for its data.
class HostMemory final : public consort::ExecutionMemory {
 public:
  explicit HostMemory(const consort::Platform &platform) : platform_(platform) {}

  consort_status settle(consort::Datum &, uint32_t) noexcept override { return CONSORT_OK; }
  consort::DatumExtra *forget(consort::Datum &d) noexcept override { return d.rare.exchange(nullptr); }
  void foresee(const consort::Task &) noexcept override {}
  bool reserve(consort::Task *, size_t) noexcept override { return true; }
  void unreserve(consort::Staging *) noexcept override {}
  consort::Outcome stage_home(consort::Task *) noexcept override { return consort::Outcome::kDone; }
  consort_status outcome(const consort::Task &, std::string_view *) const noexcept override { return CONSORT_OK; }
  const void *held_view(const consort::Task &, const consort::Datum &d) const noexcept override { return d.view; }
  consort::Outcome stage_step(consort::Task *, const consort::PartitionPlan &, consort::PartitionTurn) noexcept override {
    return consort::Outcome::kDone;
  }
  void settle_step(consort::Task *, const consort::PartitionPlan &, consort::PartitionTurn) noexcept override {}
  void parts_have_no_place(const consort::PartitionPlan &) noexcept override {}
  void end(consort::ThreadState &, consort::Task *) noexcept override {}
  uint32_t home_of(const consort::Datum &) noexcept override { return platform_.topology->home(); }
  void invalidate(consort::Datum &) noexcept override {}
  uint32_t state_in(const consort::Datum &, uint32_t) noexcept override { return CONSORT_IN_VALID | CONSORT_IN_ROOM; }

  bool manages(uint32_t) const noexcept override { return false; }
  bool grants_scratch(uint32_t) const noexcept override { return false; }
  consort_status stage(consort::ThreadState &, consort::Worker &, consort::Frame &, consort::Task *,
                       consort::Datum **) noexcept override {
    return CONSORT_OK;
  }
  consort_status begin(consort::Frame &, consort::Task *, consort::Datum **) noexcept override { return CONSORT_OK; }
  bool undo(consort::ThreadState &, consort::Task *) noexcept override { return false; }
  bool valid_in(const consort::Datum &, uint32_t) const noexcept override { return true; }
  bool busy() const noexcept override { return false; }
  bool keeps_from(consort::TaskName, consort::TaskName) noexcept override { return false; }
  bool step(consort::ThreadState &) noexcept override { return false; }
  bool stirred() const noexcept override { return false; }
  void stir() noexcept override {}
  uint64_t next_event() const noexcept override { return CONSORT_NEVER; }
  std::string describe(consort::TaskName) noexcept override { return {}; }
  std::string describe() noexcept override { return {}; }

 private:
  const consort::Platform &platform_;
};

template <class S>
class ExecutionOn : public TaskGraphOn<S> {
 public:
  // host_memory: the room has no memory of its own
  explicit ExecutionOn(const Pairs &pairs, bool host_memory = true) : TaskGraphOn<S>(pairs, false), memory_(*this) {
    if (host_memory) this->graph_memory = this->execution_memory = &memory_;
    this->codelet_host = std::make_unique<consort::Host>(consort::HostHooks{}, this->log_to, nullptr, "codelet");
    this->window_wait = consort::make_window_wait();
    for (const consort::Unit &u : this->topology->units()) {
      this->executors.push_back(std::make_unique<consort::Executor>(*this, u.desc.id, u));
      this->workers.push_back(this->executors.back().get());
    }
    this->gangs.open(false);
  }
  ~ExecutionOn() {
    this->workers.clear();
    this->executors.clear();
  }

  bool step(uint32_t worker = 0) { return consort::pump_one(*this, this->thread(), worker); }

 private:
  HostMemory memory_;
};

struct ExecRoom : ExecutionOn<consort::Execution> {
  explicit ExecRoom(const Pairs &pairs = {}) : ExecutionOn(pairs) {}
};

}  // namespace consort_test
