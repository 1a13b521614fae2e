// serving.hpp — an instance's served workers, epoch, and threads inside it (visitors).
//
// Any thread pushes and a worker's owner pops, each as a visitor; changes of the workers or the epoch are [control]. New
// worker groups are first prepared, so that the owner can resize its own tables, and then published. They
// live as long as the instance, so readers need no lock.
#pragma once
#include <memory>

#include "worker_groups.hpp"

namespace policies {

class Serving {
 public:
  Serving(const consort_host *host, uint64_t epoch, bool for_teams = false)
      : host_(host), for_teams_(for_teams), epoch_(epoch) {}

  // -- served workers --
  const WorkerGroups &served() const noexcept { return *served_.load(std::memory_order_seq_cst); }  // pairs with publish()
  // Not visible to readers yet. Strong exception guarantee.
  const WorkerGroups &prepare(Members members, const consort_topology &t) {
    auto served = std::make_unique<WorkerGroups>(std::move(members), t, for_teams_);
    while (lines_.size() < served->members.serves.size()) lines_.push_back(std::make_unique<Line>());
    std::vector<Line *> table;
    for (const auto &l : lines_) table.push_back(l.get());
    snapshots_.reserve(snapshots_.size() + 1);
    tables_.push_back(std::move(table));
    snapshots_.push_back(std::move(served));
    return *snapshots_.back();
  }
  // Takes no lock, so it may be called under the owner's lock.
  void publish() noexcept {
    line_of_.store(tables_.back().data(), std::memory_order_seq_cst);  // before the groups that count them
    served_.store(snapshots_.back().get(), std::memory_order_seq_cst);       // pairs with served()
  }

  // -- visitors --
  // A caller with the id of a served worker is that worker's owner; all other threads share one line.
  Visitors &visitors_of(uint32_t worker) noexcept {
    if (worker >= served().group_of.size()) return external_;
    return line_of_.load(std::memory_order_seq_cst)[worker]->visitors;
  }
  Visitors &external() noexcept { return external_; }
  bool wait_until_empty(uint64_t deadline) const noexcept {
    for (const auto &l : lines_)
      if (l->visitors.wait(host_, deadline) != CONSORT_OK) return false;
    return external_.wait(host_, deadline) == CONSORT_OK;
  }
  consort_status quiesce(uint64_t deadline) const noexcept {
    return wait_until_empty(deadline) ? CONSORT_OK : CONSORT_E_TIMEOUT;
  }

  // -- the epoch --
  // Called by a visitor: whether it may push with this epoch.
  bool in(uint64_t epoch) const noexcept {
    return epoch_.load(std::memory_order_seq_cst) == epoch;  // pairs with begin(), by way of Visit
  }
  void begin(uint64_t epoch) noexcept {  // on return, all pushes of the old epoch are in a queue
    epoch_.store(epoch, std::memory_order_seq_cst);  // pairs with in(), by way of Visit
    wait_until_empty(CONSORT_NEVER);
  }

 private:
  struct alignas(kLine) Line {
    Visitors visitors;  // calls of one worker's owner
  };

  const consort_host *const host_;
  const bool for_teams_;
  std::atomic<uint64_t> epoch_;  // seq_cst with Visit: see Visitors
  std::atomic<const WorkerGroups *> served_{nullptr};  // seq_cst in show() and served(): readers see the tables stored before it
  std::vector<std::unique_ptr<WorkerGroups>> snapshots_;  // all snapshots; [control]
  std::vector<std::unique_ptr<Line>> lines_;  // by worker; [control]; readers stay below the groups' count
  std::atomic<Line *const *> line_of_{nullptr};  // stored before served_: see publish()
  std::vector<std::vector<Line *>> tables_;
  alignas(kLine) Visitors external_;
};

}  // namespace policies
