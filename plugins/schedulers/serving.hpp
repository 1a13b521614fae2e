// serving.hpp — whom an instance serves and who is inside it: its crew, its epoch, its visitors.
//
// Any thread pushes and a worker's owner pops, each as a visitor; what changes the crew or the epoch is [control]. A
// new crew is prepared first, so that its owner can make what it keeps of each worker as large, and then shown. Crews
// live as long as the instance, so nobody needs a lock to read one.
#pragma once
#include <memory>

#include "worker_groups.hpp"

namespace policies {

class Serving {
 public:
  Serving(const consort_host *host, uint64_t epoch, bool for_teams = false)
      : host_(host), for_teams_(for_teams), epoch_(epoch) {}

  // -- the crew --
  const Crew &crew() const noexcept { return *crew_.load(std::memory_order_seq_cst); }  // pairs with show()
  // Seen by nobody yet. May throw; nothing has changed then.
  const Crew &prepare(Members members, const consort_topology &t) {
    auto crew = std::make_unique<Crew>(std::move(members), t, for_teams_);
    while (lines_.size() < crew->members.serves.size()) lines_.push_back(std::make_unique<Line>());
    std::vector<Line *> table;
    for (const auto &l : lines_) table.push_back(l.get());
    crews_.reserve(crews_.size() + 1);
    tables_.push_back(std::move(table));
    crews_.push_back(std::move(crew));
    return *crews_.back();
  }
  // Takes no lock, so it may be called under the owner's.
  void show() noexcept {
    line_of_.store(tables_.back().data(), std::memory_order_seq_cst);  // before the crew that counts them
    crew_.store(crews_.back().get(), std::memory_order_seq_cst);       // pairs with crew()
  }

  // -- visitors --
  // Who calls as a worker that serves is that worker's owner; all others share one line.
  Visitors &visitors_of(uint32_t worker) noexcept {
    if (worker >= crew().group_of.size()) return outsiders_;
    return line_of_.load(std::memory_order_seq_cst)[worker]->visitors;
  }
  Visitors &outsiders() noexcept { return outsiders_; }
  bool nobody_inside(uint64_t deadline) const noexcept {
    for (const auto &l : lines_)
      if (l->visitors.wait(host_, deadline) != CONSORT_OK) return false;
    return outsiders_.wait(host_, deadline) == CONSORT_OK;
  }
  consort_status quiesce(uint64_t deadline) const noexcept {
    return nobody_inside(deadline) ? CONSORT_OK : CONSORT_E_TIMEOUT;
  }

  // -- the epoch --
  // Asked by a visitor: may it push with this one?
  bool in(uint64_t epoch) const noexcept {
    return epoch_.load(std::memory_order_seq_cst) == epoch;  // pairs with begin(), by way of Visit
  }
  void begin(uint64_t epoch) noexcept {  // what was let in with the old one is in a queue when this returns
    epoch_.store(epoch, std::memory_order_seq_cst);  // pairs with in(), by way of Visit
    nobody_inside(CONSORT_NEVER);
  }

 private:
  struct alignas(kLine) Line {
    Visitors visitors;  // calls of one worker's owner
  };

  const consort_host *const host_;
  const bool for_teams_;
  std::atomic<uint64_t> epoch_;  // seq_cst with Visit: see Visitors
  std::atomic<const Crew *> crew_{nullptr};  // seq_cst in show() and crew(): the tables stored before it are seen
  std::vector<std::unique_ptr<Crew>> crews_;  // all there were; [control]
  std::vector<std::unique_ptr<Line>> lines_;  // by worker; [control], read through the crew's count
  std::atomic<Line *const *> line_of_{nullptr};  // stored before crew_: see show()
  std::vector<std::vector<Line *>> tables_;
  alignas(kLine) Visitors outsiders_;
};

}  // namespace policies
